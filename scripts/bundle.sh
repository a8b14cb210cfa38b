#!/usr/bin/env bash
# Builds one file that runs on every CPU of an architecture, with its checksums
# and the licences of what is in it.
#
#   scripts/bundle.sh arm64   dist/pichat-linux-arm64, for every 64-bit Pi
#   scripts/bundle.sh amd64   dist/pichat-linux-amd64, for PCs with SSE 4.2
#
# The program is built twice: for the oldest CPU, and for a newer one. The first
# carries the second and hands over to it where the CPU can run it
# (cmd/pichat/handover). docs/pi.md tells more.
#
# Environment:
#   GO       the go command to use (default build/go)
#   VERSION  what `pichat version` says (default: git describe)
#   CROSS    what begins the names of the cross compilers (default
#            aarch64-linux-gnu- or x86_64-linux-gnu-)
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root"
go=${GO:-build/go}
version=${VERSION:-$(git describe --tags --always --dirty 2>/dev/null || echo unknown)}

# choose ARCH sets what differs: the compilers, the engine's two flavours and what
# the second is called, Go's level for each, and the names of files.
choose() {
	goarch=$1 program=dist/pichat-linux-$1
	case $1 in
	arm64)
		cross=$(cross_prefix aarch64) machine=AArch64 needs=pi
		outer=armv8 outer_name=ARMv8.0 inner=a76 inner_name=Cortex-A76
		levels=(GOARM64=v8.0) work=build/pi licences=dist/THIRD_PARTY_LICENCES sums=dist/SHA256SUMS
		;;
	amd64)
		# With a level of its own Go says in words that an older CPU will not do.
		cross=$(cross_prefix x86_64) machine=X86-64 needs=amd64
		outer=x64v2 outer_name=x86-64-v2 inner=x64v3 inner_name=x86-64-v3
		levels=(GOAMD64=v2) work=build/amd64 licences=dist/THIRD_PARTY_LICENCES.amd64 sums=dist/SHA256SUMS.amd64
		;;
	*) fail "say for which architecture: arm64 or amd64, not '$1'" ;;
	esac
}

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
	env CGO_ENABLED=1 GOOS=linux "GOARCH=$goarch" "${levels[@]}" "CC=${cross}gcc" "CXX=${cross}g++" \
		"CGO_CPPFLAGS=-I$engine/include" "CGO_LDFLAGS=-L$engine/lib" \
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
	grep -q "Machine: .*$machine" <<<"$headers" || fail "$1 is not for $goarch"
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
		cat <<-EOF

			# Libraries of the compiler
			This file of pichat is static: the GNU C library, and GCC's run-time
			libraries for C and C++, are linked in. '$1' in pichat's sources links
			it anew with other versions of them. Their terms follow.
		EOF
		system_licences
	} >"$work/licences.tmp"
	# Its time counts to nobody, but an unchanged file is not compressed again.
	cmp -s "$work/licences.tmp" "$licences" || cp "$work/licences.tmp" "$licences"
	rm "$work/licences.tmp"
}

megabytes() { awk -v bytes="$(stat -c %s "$1")" 'BEGIN { printf "%.1f MB", bytes / 1e6 }'; }

main() {
	local go_file=llm/llamacpp/engine_build.go text=cmd/pichat/licences/third_party.txt
	local carried=cmd/pichat/handover/inner.gz second
	choose "${1:-}"
	second=$work/pichat-$inner
	scripts/setup.sh "$needs"
	scripts/engine.sh "$outer"
	scripts/engine.sh "$inner"
	mkdir -p "$work" dist
	collect_licences "make $([[ $goarch == arm64 ]] && echo pi || echo "dist-$goarch")"

	say "building version $version for the $inner_name"
	overlay "$work/$inner.json" "$go_file" "build/engine-$inner.go.txt" "$text" "$licences"
	build "$inner" "$second" "$work/$inner.json" ''
	check_static "$second"
	[[ $work/inner.gz -nt $second ]] || {
		gzip -9 -n -c "$second" >"$work/inner.gz.tmp"
		mv -f "$work/inner.gz.tmp" "$work/inner.gz"
	}

	say "building it for $outer_name, with the other inside"
	overlay "$work/outer.json" "$go_file" "build/engine-$outer.go.txt" "$text" "$licences" \
		"$carried" "$work/inner.gz"
	build "$outer" "$program" "$work/outer.json" ,carries
	check_static "$program"
	(cd dist && sha256sum "${program##*/}" "${licences##*/}" >"${sums##*/}")
	say "$program: $(megabytes "$program"), of it $(megabytes "$work/inner.gz") the $inner_name program (unpacked $(megabytes "$second"))"
}

main "$@"
