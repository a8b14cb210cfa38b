#!/usr/bin/env bash
# Tries dist/pichat_*_ARCH.deb in a scratch Debian: lintian, install, run, upgrade
# with edited settings, remove, purge, and the refusal beside a pichat of `make pi`.
#
#   scripts/deb_test.sh [FILE.deb]
#
# Needs root (chroot), debootstrap and lintian. No systemd runs in the scratch
# root, so what is started there is not seen; what is enabled is. The test under a
# systemd is scripts/systemd-test.sh.
#
# Environment: ARCH, amd64 or arm64 (default this machine's; the programs of
# another run by qemu-user and binfmt_misc, slowly); DEB_SUITE, the Debian to try
# in (default bookworm).
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=binfmt.sh
source "$(dirname "${BASH_SOURCE[0]}")/binfmt.sh"
# shellcheck source-path=SCRIPTDIR source=scratch.sh
source "$(dirname "${BASH_SOURCE[0]}")/scratch.sh"
cd "$root"

readonly edited='PICHAT_MAX_TOKENS=77 # an owner wrote this'

# expect WHAT COMMAND... fails the test unless the command succeeds.
expect() {
	local what=$1
	shift
	if "$@" >"$log" 2>&1; then
		say "ok: $what"
	else
		cat "$log" >&2
		fail "not so: $what"
	fi
}

# expect_text WHAT TEXT fails the test unless the last command printed TEXT.
expect_text() {
	[[ $(<"$log") == *"$2"* ]] || fail "not so: $1: $(<"$log")"
	say "ok: $1"
}

not() { ! "$@"; }

# completes WORDS WANTED tells whether bash completes the last of the words so.
# shellcheck disable=SC2016 # the scratch root's bash expands them
completes() {
	inside bash -c '
		source /usr/share/bash-completion/completions/pichat
		read -ra COMP_WORDS <<<"$1"
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_pichat
		echo "completes to ${COMPREPLY[*]}"
		[[ ${COMPREPLY[*]} == "$2" ]]' bash "$1" "$2"
}

# newer makes a copy of the package with a higher version and another default.
newer() {
	local dir=$scratch/tmp/newer
	dpkg-deb -R "$deb" "$dir"
	sed -i -E 's/^(Version: .*)/\1+next/' "$dir/DEBIAN/control"
	echo '# a new default' >>"$dir/etc/pichat/pichat.env"
	dpkg-deb --root-owner-group -Znone -b "$dir" "$scratch/tmp/newer.deb" >/dev/null
	rm -rf "$dir"
}

# find_link succeeds when a link to a unit of pichat is left.
find_link() { [[ -n $(find "$scratch/etc/systemd" "$scratch/var/lib/systemd" -name '*pichat*' -print -quit) ]]; }

has_licence() { [[ $(inside zcat /usr/share/doc/pichat/third-party-licences.gz) == *"GNU C library"* ]]; }
has_model() { [[ $(inside pichat model list) == *smollm2-135m-instruct* ]]; }

install_it() {
	expect "it installs" inside dpkg -i /tmp/pichat.deb
	expect_text "it says that a model is missing" "holds no model yet"
	expect_text "it says which command fetches one" "sudo pichat model pull smollm2-135m-instruct"
	expect "the program runs" inside pichat version
	expect "it is the file for every CPU" not grep -q 'the only program in this file' <(inside pichat version)
	expect "the licences of the compiler's libraries are there" has_licence
	expect "the model's name is in the catalogue" has_model
	expect "the service is enabled" test -L "$scratch/etc/systemd/system/multi-user.target.wants/pichat.service"
	expect "the socket is enabled" test -L "$scratch/etc/systemd/system/sockets.target.wants/pichat.socket"
	expect "the service starts /usr/bin/pichat" grep -qx 'ExecStart=/usr/bin/pichat serve' "$scratch/lib/systemd/system/pichat.service"
	expect "bash completes commands" completes "pichat se" serve
	expect "bash completes commands of two words" completes "pichat model in" info
	expect "bash completes flags" completes "pichat serve --slo" --slots
	echo PICHAT_NONSENSE=1 >>"$scratch/etc/pichat/pichat.env"
	expect "a bad setting ends it" not inside pichat serve
	expect_text "it names the bad setting and its line" "/etc/pichat/pichat.env:"
}

upgrade_it() {
	echo "$edited" >"$scratch/etc/pichat/pichat.env"
	inside rm /etc/systemd/system/sockets.target.wants/pichat.socket
	expect "it upgrades" inside dpkg --force-confdef --force-confold -i /tmp/newer.deb
	expect "an owner's settings survive" grep -qxF "$edited" "$scratch/etc/pichat/pichat.env"
	expect "the new default lies beside them" grep -q 'a new default' "$scratch/etc/pichat/pichat.env.dpkg-dist"
	expect "what an owner disabled stays so" test ! -e "$scratch/etc/systemd/system/sockets.target.wants/pichat.socket"
}

remove_it() {
	echo model >"$scratch/srv/pichat/models/mine.gguf"
	expect "it is removed" inside dpkg -r pichat
	expect "the program is gone" test ! -e "$scratch/usr/bin/pichat"
	expect "an owner's settings are kept" grep -qxF "$edited" "$scratch/etc/pichat/pichat.env"
	expect "it is purged" inside dpkg -P pichat
	expect_text "it says that it kept the models" "kept the models"
	expect "models are kept" test -f "$scratch/srv/pichat/models/mine.gguf"
	expect "settings are gone" test ! -e "$scratch/etc/pichat"
	expect "no link to a unit is left" not find_link
	expect "it installs again" inside dpkg -i /tmp/pichat.deb
	[[ $(<"$log") != *"holds no model"* ]] || fail "not so: with a model there it asks for none"
	expect "it is purged with its models when asked" inside PICHAT_PURGE_MODELS=yes dpkg -P pichat
	expect "the models are gone" test ! -e "$scratch/srv/pichat"
}

refuse_it() {
	mkdir -p "$scratch/opt/pichat/releases/1"
	ln -s releases/1 "$scratch/opt/pichat/current"
	expect "it refuses beside a pichat of make pi" not inside dpkg -i /tmp/pichat.deb
	expect_text "it says why" "deployed by 'make pi'"
	expect "nothing was installed" test ! -e "$scratch/usr/bin/pichat"
	expect "what was there stays" test -L "$scratch/opt/pichat/current"
}

# emulate makes programs of the package's architecture run here.
emulate() {
	[[ $arch == arm64 ]] || skip "programs for $arch do not run on this machine"
	scripts/setup.sh pi-test
	register_arm || skip "$why_not"
}

clean_up() {
	unregister_arm
	rm -rf "$scratch" "$log"
}

main() {
	[[ $EUID == 0 ]] || fail "run it as root: it needs chroot"
	has debootstrap || fail "debootstrap is not here: apt-get install debootstrap"
	has lintian || fail "lintian is not here: apt-get install lintian"
	expect "lintian finds no error" lintian --fail-on error "$deb"
	cat "$log" >&2
	[[ $arch == "$(dpkg --print-architecture)" ]] || emulate
	unpack_scratch "$arch"
	cp "$deb" "$scratch/tmp/pichat.deb"
	newer
	install_it
	upgrade_it
	remove_it
	refuse_it
	say "all of it works: $deb"
}

arch=${ARCH:-$(dpkg --print-architecture)}
deb=${1:-}
if [[ -z $deb ]]; then
	# shellcheck disable=SC2012 # names of our own making, and the newest is wanted
	deb=$(ls -t dist/pichat_*_"$arch".deb 2>/dev/null | head -n 1) || true
	[[ -n $deb ]] || fail "dist/ holds no package for $arch: run 'make deb' first, and for arm64 'make pi' before it"
fi
scratch=$(mktemp -d)
log=$(mktemp)
trap clean_up EXIT
trap 'exit 130' INT TERM HUP
main
