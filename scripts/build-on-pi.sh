#!/usr/bin/env bash
# Builds dist/pichat-linux-arm64 on a Pi over ssh, and brings it here: for a
# machine without a compiler for it, such as a Mac. scripts/pi.sh starts it.
#
#   scripts/build-on-pi.sh
#
# What is sent is what a build here would see: the files of this clone with their
# changes, and new ones that git does not ignore. They go to a folder of their own in
# the cache folder there, and stay, as the engines do: the next build takes less. A
# build that was begun goes on there when the connection ends.
#
# Environment:
#   BUILD_ON       where: user@host, or pi for the first one of PI (the default)
#   PI             the machines to deploy to
#   VERSION        what `pichat version` says (default: git describe)
#   DRY_RUN=1      look at the machine, say what would be done, change nothing
#   SSH='ssh -F f' the SSH client and its options
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=deploy-ssh.sh
source "$root/scripts/deploy-ssh.sh"
# shellcheck source-path=SCRIPTDIR source=deploy-plan.sh
source "$root/scripts/deploy-plan.sh"
cd "$root"

readonly program=pichat-linux-arm64 scripts=(deploy-check.sh build-on-pi-steps.sh)
ssh=()
# What the steps there are told.
# shellcheck disable=SC2034 # settings of deploy-ssh.sh sends them
build_version=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo unknown)} sources='' sender=''
sent+=(build_version sources sender)

# choose_target sets target, the machine to build on.
choose_target() {
	local first why
	read -r first _ <<<"${PI:-}" || true
	target=${BUILD_ON:-pi}
	[[ $target != pi ]] || target=$first
	why="this is $(uname -s) on $(uname -m), without a compiler for 64-bit ARM Linux or an apt-get to install one"
	[[ -z ${BUILD_ON:-} ]] || why="BUILD_ON=$BUILD_ON means the first machine of PI"
	[[ -n $target ]] || fail "$why, and PI names none. Do one of these:
    make pi PI=pi@raspberrypi.local          build on the Pi over ssh, and install it there
    make pi BUILD_ON=pi@raspberrypi.local    only build there, and bring the file here
    make pi                                  in a Debian or Ubuntu, such as a container, or in a clone on the Pi"
	[[ $target =~ ^[^-[:space:]][^[:space:]]*$ ]] || fail "BUILD_ON=$target: want one machine, such as pi@raspberrypi.local"
}

# check_tools looks at what this takes of the host.
check_tools() {
	local name missing=()
	for name in git tar; do has "$name" || missing+=("$name"); done
	stat -c %s . >/dev/null 2>&1 && has sha256sum || missing+=("GNU coreutils (on a Mac: brew install bash coreutils)")
	((${#missing[@]} == 0)) || fail "missing here: ${missing[*]}"
	git rev-parse --git-dir >/dev/null 2>&1 || fail "$root is no clone of git, which tells the sources from the rest"
}

# judge_builder refuses a machine that cannot build, and warns of one that is slow.
judge_builder() {
	local need_mb=2000 free_mb=$((facts[disk_kb] / 1000)) memory_mb=$((facts[available_kb] / 1000))
	if [[ ${facts[class]} != 64 ]]; then
		fail "$target: its system is ${facts[class]}-bit (the kernel may say aarch64 all the same). The build takes the 64-bit Raspberry Pi OS: write the card anew with it, or build on another machine with BUILD_ON=user@host"
	elif [[ ${facts[machine]} != 183 ]]; then
		fail "$target: its system is for $(machine_name "${facts[machine]}"); the build takes a 64-bit ARM one"
	fi
	[[ -z ${facts[engines]} ]] || need_mb=500 # the rest is there already
	((free_mb > need_mb)) ||
		fail "$target: the disk is full: $free_mb MB are free at ${facts[build]}, the build takes up to $need_mb. Make room there, or build on another machine with BUILD_ON=user@host"
	((memory_mb >= 700)) ||
		say "$target: only $memory_mb MB of its memory are free, and a compiler takes up to 700: it will swap, take long, or be ended. Stop what runs there (sudo systemctl stop pichat), or build elsewhere with BUILD_ON=user@host"
	say "$target: ${facts[board]:-no board name}, $((facts[memory_kb] / 1000)) MB memory, $free_mb MB free"
}

# files prints the names of the sources, each ended by a zero byte.
files() {
	local file
	while IFS= read -r -d '' file; do
		[[ ! -e $file && ! -L $file ]] || printf '%s\0' "$file"
	done < <(git ls-files -z --cached --others --exclude-standard)
}

# send_sources replaces the sources there by those here.
send_sources() {
	local rc=0
	remote_as_user prepare_sources "${scripts[@]}"
	# ustar and that variable: nothing of a Mac's own beside the files.
	files | COPYFILE_DISABLE=1 tar --format=ustar --null -czf - -T - |
		"${ssh[@]}" "$target" "tar -xzmf - -C $(printf %q "$sources")" 2>"$work/words" || rc=$?
	((rc == 0)) && return
	! grep -q 'No space left on device' "$work/words" || fail "$target: the disk is full there: make room, then run the same again"
	fail "$target: the sources were not copied ($(grep -v '^[[:space:]]*$' "$work/words" | head -n 1 | tr -d '\r' || true)). Run the same again"
}

# install_packages installs there what the build needs of the system.
install_packages() {
	local packages
	packages=$(remote_as_user missing_packages "${scripts[@]}") || fail "$target: could not be looked at for what the build needs"
	packages=${packages##*$'\n'packages} packages=${packages#packages} packages=${packages# }
	[[ -n $packages ]] || return 0
	[[ -n ${facts[apt]} ]] ||
		fail "$target: the build needs the programs of the Debian packages $packages, and there is no apt-get there. Install their like by hand, then run the same again"
	[[ ${facts[rights]} != none ]] ||
		fail "$target: these packages are missing there, and the login is neither root nor has sudo: $packages. Let someone who is root there install them (apt-get install $packages), then run the same again"
	say "$target: installing $packages"
	become
	send_steps root install_packages "${scripts[@]}" || fail "$target: the packages were not installed"
}

# bring_back copies what was built to dist/.
bring_back() {
	local sums sha256 part path size
	sums=$("${ssh[@]}" "$target" "cat $(printf %q "$sources/dist/SHA256SUMS")") || fail "$target: the checksums of what was built cannot be read"
	sha256=$(awk -v name="$program" '$2 == name { print $1 }' <<<"$sums")
	[[ $sha256 =~ ^[0-9a-f]{64}$ ]] || fail "$target: the checksums of what was built do not name $program"
	mkdir -p dist
	part=dist/.$program.$sha256.part
	if [[ ! -f dist/$program ]] || ! sha256sum --check --status <<<"$sha256  dist/$program"; then
		find dist -maxdepth 1 -name ".$program.*.part" ! -name "${part##*/}" -delete
		path=$(printf %q "$sources/dist/$program")
		size=$(stat -c %s "$part" 2>/dev/null || echo 0)
		((size == 0)) || say "going on with the copy: $(megabytes "$size") are here"
		"${ssh[@]}" "$target" "tail -c +$((size + 1)) $path" >>"$part" ||
			fail "$target: the file that was built did not arrive whole. It is ready there: run the same again, and the copy goes on"
		if ! sha256sum --check --status <<<"$sha256  $part"; then
			rm -f "$part"
			fail "what arrived from $target is not what was built there (sha256 is not $sha256): removed it; run the same again"
		fi
		chmod 755 "$part"
		mv -f "$part" "dist/$program"
	fi
	"${ssh[@]}" "$target" "cat $(printf %q "$sources/dist/THIRD_PARTY_LICENCES")" >dist/THIRD_PARTY_LICENCES
	printf '%s\n' "$sums" >dist/SHA256SUMS
	(cd dist && sha256sum --check --status SHA256SUMS) || fail "what arrived in dist/ does not fit its SHA256SUMS: run the same again"
	say "dist/$program: $(megabytes "$(stat -c %s "dist/$program")"), version $build_version, built on $target"
}

# clean_up closes what is open.
clean_up() {
	((${#ssh[@]} == 0)) || disconnect
	rm -rf "$work"
}

main() {
	choose_target
	check_tools
	work=$(mktemp -d /tmp/pichat.XXXXXX) # a socket's path must be short
	trap clean_up EXIT
	connect
	sender=$(printf '%s' "$(uname -n) $root" | sha256sum | cut -c 1-8)
	read_facts look "${scripts[@]}"
	judge_builder
	sources=${facts[build]}/$sender
	if [[ -n ${DRY_RUN:-} ]]; then
		say "$target: would build version $build_version there, in $sources, and bring it to dist/$program"
		return
	fi
	say "$target: building version $build_version there, in $sources"
	remote_as_user follow_running "${scripts[@]}"
	send_sources
	install_packages
	remote_as_user build "${scripts[@]}" || fail "$target: the build failed there: it says why above"
	bring_back
}

main "$@"
