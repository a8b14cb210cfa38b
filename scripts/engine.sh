#!/usr/bin/env bash
# Builds llama.cpp as static libraries.
#
#   scripts/engine.sh [FLAVOUR]
#
#   native   (default) for this machine. build/engine links to it, where the cgo
#            binding (llm/llamacpp) looks for it.
#   armv8    for every 64-bit ARM CPU, such as those of a Pi 3 and a Pi 4
#   a76      for ARM CPUs with dot products and half floats, such as a Pi 5's
#   x64v2    for x86-64 CPUs with SSE 4.2: those since 2009 or so
#   x64v3    for x86-64 CPUs with AVX2, FMA, F16C and BMI2: most since 2013
#
# All but native are cross-compiled, but on a machine of their kind, whose own
# compiler builds both. They disturb nothing of the native build:
# build/engine-FLAVOUR links to the libraries, and build/engine-FLAVOUR.json is
# the -overlay that makes `go build` take that flavour's engine_build.go.
# scripts/bundle.sh puts two of them together.
#
# Environment:
#   LLAMA_CPP_DIR   a llama.cpp tree of your own, in place of the pinned sources
#   ENGINE_FLAGS    more CMake flags, such as -DGGML_RPC=ON
#   CC CXX CFLAGS CXXFLAGS   as CMake knows them; of the native flavour
#   CROSS   what begins the names of the compilers (default aarch64-linux-gnu- for
#           the ARM flavours, x86_64-linux-gnu- for the x64 ones)
#   PICHAT_CACHE    where sources and engines are kept (default ~/.cache/pichat)
#
# An engine is kept under a key made of everything that shapes it. So a changed
# flag, compiler or source gives another engine beside the old one, and an
# unchanged one is found again in no time, from any clone.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The pinned sources: llama.cpp rides in the source package of its Python binding.
readonly package=llama-cpp-python==0.3.36
readonly package_file=llama_cpp_python-0.3.36.tar.gz
readonly package_sha256=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e
readonly package_bytes=76589250
readonly pinned_version=0.5.0
readonly pinned_commit=0c1e57098

# What is kept of them: what the libraries are built from, and the chat
# templates, vocabularies and tests that our own tests are checked against.
readonly kept=(CMakeLists.txt LICENSE licenses AUTHORS cmake common ggml grammars include
	models src tests vendor)

# Flags of every flavour. Only the libraries: no tools, no server, no network.
readonly common_flags=(
	-DCMAKE_BUILD_TYPE=Release
	-DBUILD_SHARED_LIBS=OFF
	-DGGML_OPENMP=OFF
	-DLLAMA_BUILD_APP=OFF
	-DLLAMA_BUILD_COMMON=OFF
	-DLLAMA_BUILD_EXAMPLES=OFF
	-DLLAMA_BUILD_SERVER=OFF
	-DLLAMA_BUILD_TESTS=OFF
	-DLLAMA_BUILD_TOOLS=OFF
	-DLLAMA_OPENSSL=OFF
)

# flavour_flags FLAVOUR prints the flags of one flavour, one a line: a new flavour
# is a new row. One that depends on this machine's CPU also has a row in cpu_of.
flavour_flags() {
	case $1 in
	native) echo -DGGML_NATIVE=ON ;;
	armv8) arm_flags armv8-a+crc ;;
	a76) arm_flags armv8.2-a+dotprod+fp16 ;;
	x64v2) x64_flags OFF ;;
	x64v3) x64_flags ON ;;
	*) fail "unknown flavour '$1': known are native, armv8, a76, x64v2, x64v3" ;;
	esac
}

# arm_flags ARCH prints the flags of a build for 64-bit ARM Linux, whatever this
# machine is.
arm_flags() {
	printf '%s\n' -DGGML_NATIVE=OFF "-DGGML_CPU_ARM_ARCH=$1" -DCMAKE_SYSTEM_NAME=Linux \
		-DCMAKE_SYSTEM_PROCESSOR=aarch64 "-DCMAKE_C_COMPILER=$CC" "-DCMAKE_CXX_COMPILER=$CXX"
}

# x64_flags ON|OFF prints the flags of a build for x86-64 Linux with or without
# AVX2 and its companions. SSE 4.2 is in both: the kernels below SSSE3 are plain C.
x64_flags() {
	local name
	printf '%s\n' -DGGML_NATIVE=OFF -DGGML_SSE42=ON
	for name in AVX AVX2 FMA F16C BMI2; do
		echo "-DGGML_$name=$1"
	done
	printf '%s\n' -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=x86_64 \
		"-DCMAKE_C_COMPILER=$CC" "-DCMAKE_CXX_COMPILER=$CXX"
}

# choose_compilers FLAVOUR sets CC and CXX. Flags and compilers that a person set
# for this machine would not do for another.
choose_compilers() {
	case $1 in
	native) CC=${CC:-cc} CXX=${CXX:-c++} ;;
	x64*) cross_compilers x86_64 ;;
	*) cross_compilers aarch64 ;;
	esac
}

# cross_compilers MACHINE sets CC and CXX.
cross_compilers() {
	CC=$(cross_prefix "$1")gcc CXX=$(cross_prefix "$1")g++
	unset CFLAGS CXXFLAGS
}

# cpu_of FLAVOUR prints what the CPU can do where the flavour depends on it: a
# home folder may be shared by machines, and native code runs only on its like.
cpu_of() {
	case $1 in
	native) grep -m 1 -E '^(flags|Features)[[:space:]]*:' /proc/cpuinfo || uname -m ;;
	*) ;;
	esac
}

short_hash() { sha256sum | cut -c 1-12; }

# compiler_of COMMAND prints a compiler's first line of --version.
compiler_of() {
	local line
	line=$("$1" --version 2>/dev/null | head -n 1) || true
	[[ -n $line ]] || fail "no working compiler '$1': run 'make setup', or set CC and CXX (for a Pi: scripts/setup.sh pi, or CROSS)"
	echo "$line"
}

# describe_sources sets source_id, version and commit, and source_dir where the
# sources are (or will be, once unpacked).
describe_sources() {
	if [[ -z ${LLAMA_CPP_DIR:-} ]]; then
		source_id=$package_sha256 version=$pinned_version commit=$pinned_commit
		source_dir=$cache/src/llama.cpp-$version-${package_sha256:0:12}
		return
	fi
	source_dir=$(cd "$LLAMA_CPP_DIR" && pwd -P) || fail "LLAMA_CPP_DIR=$LLAMA_CPP_DIR: no such folder"
	[[ -f $source_dir/include/llama.h && -f $source_dir/CMakeLists.txt ]] ||
		fail "LLAMA_CPP_DIR=$LLAMA_CPP_DIR holds no llama.cpp: include/llama.h or CMakeLists.txt is missing"
	# The content itself is the identity: a tree may have edits no commit knows of.
	source_id=$(cd "$source_dir" &&
		find . -type f \( -path ./CMakeLists.txt -o -path './cmake/*' -o -path './ggml/*' -o \
			-path './include/*' -o -path './src/*' -o -path './vendor/*' \) -print0 |
		LC_ALL=C sort -z | xargs -0 sha256sum | short_hash)
	version=$(sed -nE 's/^set\(LLAMA_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)\).*/\2/p' \
		"$source_dir/CMakeLists.txt" | paste -sd .)
	version=${version:-unknown}
	commit=
	[[ -e $source_dir/.git ]] && commit=$(git -C "$source_dir" describe --always --dirty 2>/dev/null || true)
	commit=${commit:-content-$source_id}
}

# unpack puts what is kept of the pinned sources into source_dir.
unpack() {
	[[ -d $source_dir ]] && return
	local archive tmp name members=()
	archive=$(pypi_fetch "$package" "$package_file" "$package_sha256" "$package_bytes" \
		--no-binary llama-cpp-python)
	for name in "${kept[@]}"; do
		members+=("${package_file%.tar.gz}/vendor/llama.cpp/$name")
	done
	rm -rf "$source_dir".tmp-*
	tmp=$source_dir.tmp-$$
	mkdir -p "$tmp"
	say "unpacking llama.cpp $version ($commit)"
	tar -xzf "$archive" -C "$tmp" --strip-components=3 --no-same-owner "${members[@]}"
	mv -T "$tmp" "$source_dir"
}

# show_progress LOG keeps the build's output in LOG and shows how far it is:
# one moving line on a terminal, a line for each tenth elsewhere.
show_progress() {
	local line percent last=-1 step=10 end=$'\n'
	[[ -t 2 ]] && step=1 end=$'\r'
	while IFS= read -r line; do
		printf '%s\n' "$line"
		[[ $line =~ ^\[\ *([0-9]+)%\] ]] || continue
		percent=$((10#${BASH_REMATCH[1]} / step * step))
		((percent > last)) || continue
		last=$percent
		printf '%s: compiling llama.cpp: %3d %%, %d s%s' "${0##*/}" "$percent" "$SECONDS" "$end" >&2
	done >"$1"
	[[ $end == $'\r' ]] && printf '\n' >&2
	return 0
}

# compile TMP builds the libraries from source_dir with flags, under TMP/build.
compile() {
	local tmp=$1 jobs
	jobs=$(build_jobs)
	say "building llama.cpp $version ($commit), flavour $flavour, once: about two minutes on two cores ($jobs in use here)"
	# Paths of this machine have no business in the program.
	local map="-ffile-prefix-map=$source_dir=llama.cpp"
	export CFLAGS="${CFLAGS:-} $map" CXXFLAGS="${CXXFLAGS:-} $map" NINJA_STATUS='[%p] '
	SECONDS=0
	{
		cmake -S "$source_dir" -B "$tmp/build" -G Ninja "-DLLAMA_BUILD_COMMIT=$commit" "${flags[@]}" &&
			cmake --build "$tmp/build" --target llama --parallel "$jobs"
	} 2>&1 | show_progress "$tmp/build.log" || {
		cp "$tmp/build.log" "$cache/engine/failed.log"
		grep -A 30 -m 1 -E 'FAILED:|CMake Error|error:' "$tmp/build.log" >&2 || tail -n 30 "$tmp/build.log" >&2
		fail "the build failed; its whole output is in $cache/engine/failed.log"
	}
}

# is_complete tells whether the engine is there, whole.
is_complete() {
	local lib
	[[ -s $engine/include/llama.h ]] || return
	for lib in llama ggml ggml-cpu ggml-base; do
		[[ -s $engine/lib/lib$lib.a ]] || return
	done
}

# make_engine builds the engine aside and moves it into place as a whole, so
# that an interrupted build leaves nothing that could be taken for an engine.
make_engine() {
	is_complete && return
	local tmp=$engine.tmp
	# Under the lock: what is left here belongs to a run that was cut off.
	rm -rf "$tmp" "$engine"
	trap 'rm -rf "$engine.tmp"' EXIT
	trap 'exit 130' INT TERM HUP
	mkdir -p "$tmp/lib" "$tmp/include"
	compile "$tmp"
	find "$tmp/build" -name 'lib*.a' -exec cp -t "$tmp/lib" {} +
	cp "$source_dir"/include/*.h "$source_dir"/ggml/include/*.h "$tmp/include"
	cp "$source_dir/LICENSE" "$tmp" 2>/dev/null || true
	printf '%s\n' "$recipe" >"$tmp/recipe.txt"
	rm -rf "$tmp/build" "$tmp/build.log"
	sync -f "$tmp" # a power cut must not leave names without content
	mv -T "$tmp" "$engine"
	say "the engine is ready: $engine ($SECONDS s)"
}

# write_go_file tells the binding, and through it `pichat version`, what it is
# linked with. Go's build cache does not look into an outside .a; this file
# changes with the engine, and so makes Go link the new one.
#
#   write_go_file FILE
write_go_file() {
	local file=$1 text
	text=$(
		printf '%s\n' '// Code generated by scripts/engine.sh; DO NOT EDIT.' '' 'package llamacpp' '' \
			'// The engine this program is linked with.' 'const ('
		printf '\t%-13s = "%s"\n' engineVersion "$version" engineCommit "$commit" \
			engineFlavour "$flavour" engineKey "$key" engineFlags "$readable_flags"
		printf '%s\n' ')' '' \
			'// engineLinked holds the key in the object file, used or not: Go links anew when' \
			'// an object changes, and a constant that nothing uses leaves no trace in it.' \
			'var engineLinked = engineKey'
	)
	[[ -f $file && $(<"$file") == "$text" ]] && return
	mkdir -p "${file%/*}"
	printf '%s\n' "$text" >"$file.tmp"
	mv -f "$file.tmp" "$file"
}

# write_overlay makes `go build -overlay build/engine-FLAVOUR.json` see this
# flavour's Go file in the binding's folder. It does not end in .go: Go would take
# build/ for a package.
write_overlay() {
	local text=$root/build/engine-$flavour.go.txt
	write_go_file "$text"
	printf '{"Replace": {"%s": "%s"}}\n' "$root/llm/llamacpp/engine_build.go" "$text" \
		>"$root/build/engine-$flavour.json"
}

main() {
	flavour=${1:-native}
	local extra=() cc cxx
	read -ra extra <<<"${ENGINE_FLAGS:-}"
	choose_compilers "$flavour"
	mapfile -t flags < <(flavour_flags "$flavour")
	((${#flags[@]})) || exit 1
	readable_flags="${flags[*]}${extra[*]:+ ${extra[*]}}"
	flags=("${common_flags[@]}" "${flags[@]}" "${extra[@]}")

	describe_sources
	cc=$(compiler_of "$CC")
	cxx=$(compiler_of "$CXX")
	readable_flags="${readable_flags//[\"\\]/ }; $cxx"
	recipe=$(
		printf 'sources %s\nflags %s\ncompilers %s\nCFLAGS %s\nCXXFLAGS %s\ncpu %s\n' "$source_id" \
			"${flags[*]}" "$cc, $cxx" "${CFLAGS:-}" "${CXXFLAGS:-}" "$(cpu_of "$flavour")"
		declare -f compile
	)
	key=$(short_hash <<<"$recipe")
	engine=$cache/engine/$version-$flavour-$key

	[[ -n ${LLAMA_CPP_DIR:-} ]] || with_lock "$cache/src/.lock" unpack
	is_complete || with_lock "$engine.lock" make_engine
	link_to "$source_dir" "$root/build/llama.cpp"
	if [[ $flavour == native ]]; then
		link_to "$engine" "$root/build/engine"
		write_go_file "$root/llm/llamacpp/engine_build.go"
	else
		link_to "$engine" "$root/build/engine-$flavour"
		write_overlay
	fi
}

main "$@"
