# shellcheck shell=bash disable=SC2154 # scratch and cache are of those that source it
# A bare Debian in a folder of its own, to try packages in. Sourced after lib.sh,
# never run. It takes root and debootstrap.
#
# The sourcing script sets scratch, the folder. suite is the Debian: DEB_SUITE,
# bookworm without it.

suite=${DEB_SUITE:-bookworm}

# inside COMMAND... runs a command in the scratch root. Its /proc is mounted for
# the command alone, so that nothing is left mounted when the script ends.
# shellcheck disable=SC2016 # the inner shell expands them
inside() {
	unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" /usr/bin/env -i \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"' "$scratch" "$@"
}

# unpack_scratch ARCH puts a bare Debian into the scratch folder. What was fetched
# is kept in the cache folder.
unpack_scratch() {
	bare_archive "$1"
	tar -C "$scratch" -xf "$cache/debian-$suite-$1.tar"
}

# unpack_systemd ARCH puts one with a systemd there.
unpack_systemd() {
	local archive=$cache/debian-$suite-$1-systemd.tar
	if [[ -f $archive ]]; then
		tar -C "$scratch" -xf "$archive"
		return
	fi
	unpack_scratch "$1"
	say "adding a systemd to the bare Debian, once"
	{
		inside apt-get -q update &&
			inside apt-get -q -y install --no-install-recommends systemd systemd-sysv libnss-systemd init-system-helpers dbus
	} >"$scratch.log" 2>&1 || fail "apt-get failed, see $scratch.log"
	rm "$scratch.log"
	keep_archive "$scratch" "$archive"
}

# bare_archive ARCH makes the archive of a bare Debian, once.
bare_archive() {
	local arch=$1 archive=$cache/debian-$suite-$1.tar dir
	[[ -f $archive ]] && return
	has debootstrap || fail "debootstrap is not here: apt-get install debootstrap"
	say "fetching a bare Debian $suite for the scratch root, once"
	dir=$(mktemp -d)
	debootstrap --arch="$arch" --variant=minbase --include=libstdc++6 "$suite" "$dir" >"$dir.log" 2>&1 ||
		fail "debootstrap failed, see $dir.log"
	keep_archive "$dir" "$archive"
	rm -rf "$dir" "$dir.log"
}

# keep_archive FOLDER FILE keeps a root as a whole or not at all.
keep_archive() {
	mkdir -p "${2%/*}"
	tar -C "$1" --exclude './var/cache/apt/archives/*.deb' -cf "$2.$$" .
	mv -fT "$2.$$" "$2"
}
