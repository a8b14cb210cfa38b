#!/usr/bin/env bash
# Packs dist/pichat_VERSION_ARCH.deb out of a program that is built already.
#
#   scripts/deb.sh [amd64 [PROGRAM]] [arm64 [PROGRAM]]    both, without any
#
# PROGRAM is dist/pichat-linux-ARCH, which runs on every CPU of its architecture.
# Another one, such as bin/pichat, may run on the builder's kind of CPU only. A
# dynamic program gets the libraries it needs as dependencies; that works on
# Debian for its own architecture only, so one for another has to be static.
#
# Environment: GO, the go command (default build/go); VERSION, as git describes
# it; DEBFULLNAME and DEBEMAIL, the package's maintainer.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root"
go=${GO:-build/go}
readonly stage=build/deb # as packaging/nfpm.yaml says

# debian_version GIT prints a version that dpkg takes: it begins with a digit and
# has no dash. A commit without a tag before it sorts below all that have one.
debian_version() {
	local version=${1#v}
	version=${version//-/+}
	[[ $version =~ ^[0-9]+\. ]] || version="0~git$(git log -1 --format=%cd --date=format:%Y%m%d%H%M).$version"
	echo "$version"
}

# dependencies PROGRAM prints its libraries' packages, one a line; nothing for a
# static program.
dependencies() {
	local program=$1 dir found
	[[ $(readelf -d "$program") == *NEEDED* ]] || return 0
	dir=$(mktemp -d)
	mkdir "$dir/debian"
	printf 'Source: pichat\n\nPackage: pichat\nArchitecture: any\n' >"$dir/debian/control"
	found=$(cd "$dir" && dpkg-shlibdeps -O --ignore-missing-info "$program" 2>"$dir/log") || {
		cat "$dir/log" >&2
		fail "dpkg-shlibdeps cannot tell which packages $program needs: build on Debian, or give a static program"
	}
	rm -rf "$dir"
	sed -E 's/^shlibs:Depends=//; s/, /\n/g' <<<"$found"
}

# stage ARCH PROGRAM puts what has to be made into the stage folder.
stage() {
	local arch=$1 program=$2 text
	install -m 755 "$program" "$stage/pichat"
	if [[ $arch == "$(dpkg --print-architecture)" ]]; then
		strip --strip-unneeded --remove-section=.comment --remove-section=.note "$stage/pichat"
	fi
	# The comment on installing by hand is not for this unit.
	{
		printf '# pichat as a service. Change settings in /etc/pichat/pichat.env, and this unit\n'
		printf '# with "systemctl edit pichat": an update replaces this file.\n'
		sed -e '1,/^$/d' -e 's|^ExecStart=/opt/pichat/current/pichat |ExecStart=/usr/bin/pichat |' systemd/pichat.service
	} >"$stage/pichat.service"
	grep -q '^ExecStart=/usr/bin/pichat serve$' "$stage/pichat.service" ||
		fail "systemd/pichat.service has no ExecStart=/opt/pichat/current/pichat serve: adapt scripts/deb.sh"
	{
		cat packaging/copyright
		sed -n '/^Permission is/,$p' LICENSE | sed -e 's/^$/./' -e 's/^/ /'
	} >"$stage/copyright"
	{
		printf 'pichat (%s) unstable; urgency=medium\n\n' "$DEB_VERSION"
		printf '  * What changes is in CHANGELOG.md of the sources.\n\n'
		printf ' -- %s  %s\n' "$DEB_MAINTAINER" "$(git log -1 --format=%cD)"
	} | gzip -9n >"$stage/changelog.gz"
	gzip -9nc packaging/pichat.1 >"$stage/pichat.1.gz"
	# A static program holds the compiler's libraries too, and their terms are beside it.
	text=cmd/pichat/licences/third_party.txt
	[[ $program != "$root/${default[$arch]}" ]] || text=${licences[$arch]}
	gzip -9nc "$text" >"$stage/third-party-licences.gz"
}

# pack ARCH PROGRAM makes one package.
pack() {
	local arch=$1 program=$2 needs package file=dist/pichat_${DEB_VERSION}_$1.deb
	[[ $(file -bL "$program") == *"${machine[$arch]}"* ]] || fail "$program is no program for $arch: $(file -bL "$program" | cut -c 1-60)"
	export DEB_ARCH=$arch
	rm -rf "$stage"
	mkdir -p "$stage"
	stage "$arch" "$program"
	needs=$(dependencies "$root/$stage/pichat")
	{
		cat packaging/nfpm.yaml
		echo 'depends:'
		printf '  - %s\n' 'init-system-helpers (>= 1.54~)'
		while IFS= read -r package; do
			[[ -z $package ]] || printf '  - %s\n' "$package"
		done <<<"$needs"
	} >"$stage/nfpm.yaml"
	mkdir -p dist
	"$go" tool -modfile=tools/nfpm/go.mod nfpm package --config "$stage/nfpm.yaml" --packager deb --target "$file" >/dev/null
	rm -rf "$stage"
	say "wrote $file: $(($(stat -c %s "$file") / 1000000)) MB${needs:+, needs ${needs//$'\n'/, }}"
}

main() {
	local arch program
	(($#)) || set -- amd64 arm64
	has dpkg-deb || fail "dpkg is not here: build the package on Debian or Raspberry Pi OS"
	while (($#)); do
		arch=$1 program=${default[$1]:-}
		[[ -n $program ]] || fail "unknown architecture '$arch': known are ${!default[*]}"
		shift
		if (($#)) && [[ -z ${default[$1]:-} ]]; then
			program=$1
			shift
		fi
		if [[ ! -f $program && $program == "${default[$arch]}" ]]; then
			say "no $arch package: $program is not there, 'make ${target[$arch]}' builds it"
			continue
		fi
		[[ -f $program ]] || fail "$program is not there"
		pack "$arch" "$(realpath "$program")"
	done
}

declare -A default=([amd64]=dist/pichat-linux-amd64 [arm64]=dist/pichat-linux-arm64)
declare -A licences=([amd64]=dist/THIRD_PARTY_LICENCES.amd64 [arm64]=dist/THIRD_PARTY_LICENCES)
declare -A target=([amd64]=dist-amd64 [arm64]=pi)
declare -A machine=([amd64]=x86-64 [arm64]=aarch64)
DEB_VERSION=$(debian_version "${VERSION:-$(git describe --tags --always --dirty)}")
DEB_MAINTAINER="${DEBFULLNAME:-The pichat authors} <${DEBEMAIL:-authors@pichat.invalid}>"
export DEB_VERSION DEB_MAINTAINER
main "$@"
