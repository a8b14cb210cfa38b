#!/usr/bin/env bash
# Builds one file for every 64-bit Pi: dist/pichat-linux-arm64, with its
# checksums and the licences of what is in it.
#
#   scripts/pi.sh
#
# On a machine that has no compiler for it and cannot get one, or where BUILD_ON
# asks for it, scripts/build-on-pi.sh does the same over ssh on a Pi.
#
# The program is built twice, for ARMv8.0 and for the Cortex-A76 of a Pi 5. The
# first carries the second and hands over to it where the CPU can run it
# (cmd/pichat/handover). docs/pi.md tells more.
#
# Environment:
#   GO       the go command to use (default build/go)
#   VERSION  what `pichat version` says (default: git describe)
#   CROSS    what begins the names of the cross compilers (default aarch64-linux-gnu-)
#   BUILD_ON, PI   see scripts/build-on-pi.sh
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root"
go=${GO:-build/go}
cross=$(cross_prefix)
version=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo unknown)}
readonly work=build/pi program=dist/pichat-linux-arm64 licences=dist/THIRD_PARTY_LICENCES

# overlay FILE TARGET SOURCE... writes a list of replacements for go build.
overlay() {
	local file=$1 comma=
	shift
	{
		printf '{"Replace": {'
		while (($#)); do
			printf '%s\n\t"%s": "%s"' "$comma" "$root/$1" "$root/$2"
			comma=,
			shift 2
		done
		printf '\n}}\n'
	} >"$file"
}

# build FLAVOUR OUTPUT OVERLAY TAGS links the program with that flavour's engine.
# What names the engine stands before the binding's own flags, so it is found first.
build() {
	local engine=$root/build/engine-$1 failed=
	CGO_ENABLED=1 GOOS=linux GOARCH=arm64 GOARM64=v8.0 CC=${cross}gcc CXX=${cross}g++ \
		CGO_CPPFLAGS="-I$engine/include" CGO_LDFLAGS="-L$engine/lib" \
		"$go" build -p "$(build_jobs)" -trimpath -buildvcs=false -overlay "$3" -tags "netgo,osusergo$4" \
		-ldflags "-X main.version=$version -s -w -extldflags=-static" -o "$2" ./cmd/pichat \
		>"$work/build.log" 2>&1 || failed=yes
	# The linker warns that dlopen in a static program needs the libraries it was
	# linked with; llama.cpp calls it only for backends in files of their own.
	grep -vE "^# pichat/cmd/pichat$|dl_load_library|warning: Using 'dlopen'" "$work/build.log" >&2 || true
	[[ -z $failed ]] || fail "$2 could not be built: go says why above"
}

# check_static FILE makes sure that the file needs nothing of the system it runs on.
check_static() {
	local headers
	headers=$("${cross}readelf" --file-header --program-headers --dynamic "$1")
	grep -q 'Machine: *AArch64' <<<"$headers" || fail "$1 is not for 64-bit ARM"
	! grep -qE 'INTERP|\(NEEDED\)' <<<"$headers" || fail "$1 is not static: it asks for a loader or libraries"
}

# system_licences prints the copyright files of the compiler's own libraries that
# a static program holds, and the licences that they refer to.
system_licences() {
	local name path package seen=' ' text
	has dpkg || fail "there is no dpkg here, which knows the licences of the compiler's libraries: build on Debian or its kin"
	for name in libc.a libstdc++.a libgcc.a libgcc_eh.a; do
		path=$(realpath "$("${cross}gcc" -print-file-name="$name")")
		package=$(dpkg -S "$path" 2>/dev/null | sed -n '1s/:.*//p') || true
		text=/usr/share/doc/$package/copyright
		[[ -n $package && -s $text ]] ||
			fail "no licence found for $name ($path): no Debian package here owns it, so the file could not say what is in it"
		[[ $seen == *" $(realpath "$text") "* ]] && continue
		seen+="$(realpath "$text") "
		printf '\n%s (%s)\n\n' "$name" "$package"
		cat "$text"
	done
	for text in LGPL-2.1 GPL-3; do
		printf '\n%s\n\n' "$text"
		cat "/usr/share/common-licenses/$text"
	done
}

# collect_licences writes what both programs show by `version --licences`.
collect_licences() {
	{
		cat cmd/pichat/licences/third_party.txt
		cat <<-'EOF'

			# Libraries of the compiler
			This file of pichat is static: the GNU C library, and GCC's run-time
			libraries for C and C++, are linked in. 'make pi' in pichat's sources links
			it anew with other versions of them. Their terms follow.
		EOF
		system_licences
	} >"$work/licences.tmp"
	# Its time counts to nobody, but an unchanged file is not compressed again.
	cmp -s "$work/licences.tmp" "$licences" || cp "$work/licences.tmp" "$licences"
	rm "$work/licences.tmp"
}

megabytes() { awk -v bytes="$(stat -c %s "$1")" 'BEGIN { printf "%.1f MB", bytes / 1e6 }'; }

# can_build tells whether this machine has a compiler for 64-bit ARM Linux, or can
# install one.
can_build() {
	[[ $(uname -s) == Linux ]] || return
	[[ -n ${CROSS:-} || $(uname -m) == aarch64 ]] || has aarch64-linux-gnu-g++ || has apt-get
}

main() {
	if [[ -n ${BUILD_ON:-} ]] || ! can_build; then
		VERSION=$version exec scripts/build-on-pi.sh
	fi
	[[ $(uname -m) != aarch64 || $(getconf LONG_BIT) == 64 ]] ||
		fail "this system is 32-bit (the kernel says aarch64 all the same): build on a 64-bit Raspberry Pi OS, or on another machine"
	local go_file=llm/llamacpp/engine_build.go text=cmd/pichat/licences/third_party.txt
	local carried=cmd/pichat/handover/inner.gz
	scripts/setup.sh pi
	scripts/engine.sh armv8
	scripts/engine.sh a76
	mkdir -p "$work" dist
	collect_licences

	say "building version $version for the Cortex-A76"
	overlay "$work/a76.json" "$go_file" build/engine-a76.go.txt "$text" "$licences"
	build a76 "$work/pichat-a76" "$work/a76.json" ''
	check_static "$work/pichat-a76"
	[[ $work/inner.gz -nt $work/pichat-a76 ]] || {
		gzip -9 -n -c "$work/pichat-a76" >"$work/inner.gz.tmp"
		mv -f "$work/inner.gz.tmp" "$work/inner.gz"
	}

	say "building it for ARMv8.0, with the other inside"
	overlay "$work/outer.json" "$go_file" build/engine-armv8.go.txt "$text" "$licences" \
		"$carried" "$work/inner.gz"
	build armv8 "$program" "$work/outer.json" ,pi_outer
	check_static "$program"
	(cd dist && sha256sum "${program##*/}" "${licences##*/}" >SHA256SUMS)
	say "$program: $(megabytes "$program"), of it $(megabytes "$work/inner.gz") the Cortex-A76 program (unpacked $(megabytes "$work/pichat-a76"))"
}

main "$@"
