#!/usr/bin/env bash
# Builds llama-server and llama-bench, which `make compare` measures against,
# from the very sources that the engine is built from, as llama.cpp builds them
# by default for release. Prints the folder that the programs are in.
#
#   scripts/peers.sh
#
# Environment: LLAMA_CPP_DIR, PICHAT_CACHE as of scripts/engine.sh.
#
# It takes 5 to 15 minutes on two cores, once. Nothing but the comparison needs
# these programs.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

readonly programs=(llama-server llama-bench)

# The engine's sources lack the tools: they are unpacked whole, once more.
unpack_whole() {
	[[ -d $sources ]] && return
	local archive=$1 tmp=$sources.tmp-$$
	rm -rf "$sources".tmp-*
	mkdir -p "$tmp"
	tar -xzf "$archive" -C "$tmp" --strip-components=3 --no-same-owner \
		--wildcards '*/vendor/llama.cpp/*'
	mv -T "$tmp" "$sources"
}

# is_built tells whether all programs are there.
is_built() {
	local program
	for program in "${programs[@]}"; do
		[[ -x $peers/bin/$program ]] || return
	done
}

build() {
	is_built && return
	rm -rf "$peers"
	mkdir -p "$peers"
	say "building ${programs[*]}, once: 5 to 15 minutes on two cores; the output is in $peers/build.log"
	# The page that llama-server can carry, and what fetches models, are no part
	# of what is measured.
	{
		cmake -S "$sources" -B "$peers" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
			-DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_UI=OFF \
			-DLLAMA_CURL=OFF -DLLAMA_OPENSSL=OFF &&
			cmake --build "$peers" --target "${programs[@]}"
	} >"$peers/build.log" 2>&1 || {
		tail -n 30 "$peers/build.log" >&2
		fail "the build failed; its whole output is in $peers/build.log"
	}
}

# The archive that the engine's sources came from, kept by scripts/engine.sh.
if [[ -n ${LLAMA_CPP_DIR:-} ]]; then
	sources=$(cd "$LLAMA_CPP_DIR" && pwd -P) || fail "LLAMA_CPP_DIR=$LLAMA_CPP_DIR: no such folder"
	peers=$cache/peers/$(sha256sum <<<"$sources" | cut -c 1-12)
else
	"$root/scripts/engine.sh"
	engine_sources=$(readlink "$root/build/llama.cpp")
	shopt -s nullglob
	archives=("$cache"/downloads/llama_cpp_python-*.tar.gz)
	archive=
	for a in "${archives[@]}"; do
		# The folder of the engine's sources ends in the archive's checksum.
		[[ ${engine_sources##*-} == "$(sha256sum "$a" | cut -c 1-12)" ]] && archive=$a
	done
	[[ -n $archive ]] || fail "the archive of $engine_sources is not in $cache/downloads: remove $engine_sources, and run this again"
	sources=$cache/peers/src-${engine_sources##*-}
	peers=$cache/peers/build-${engine_sources##*-}
	with_lock "$cache/peers/.lock" unpack_whole "$archive"
fi
[[ -d $sources/tools/server ]] || fail "$sources has no tools/server: it is not a whole llama.cpp"
with_lock "$cache/peers/.lock" build
echo "$peers/bin"
