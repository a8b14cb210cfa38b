#!/usr/bin/env bash
# Tries dist/pichat-linux-amd64 on the emulated CPUs of an old PC and a newer one:
# which of its programs runs, and that both answer there as they do here.
#
#   scripts/amd64-test.sh
#
# `make amd64-test` builds what it needs first. Emulation is by qemu-user; it
# takes no root. Speeds mean nothing. Exits with 0 and a reason where this machine
# cannot do it.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=checks.sh
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
cd "$root"
readonly program=$root/dist/pichat-linux-amd64 inner=$root/build/amd64/pichat-x64v3
readonly model=$root/models/SmolLM2-135M-Instruct.Q4_1.gguf
readonly objdump=${CROSS:-x86_64-linux-gnu-}objdump

# alone COMMAND... runs a program here, with settings of nobody.
alone() { env -i PATH="$PATH" PICHAT_CONFIG=/dev/null XDG_CACHE_HOME="$tmp/cache" "$@"; }

# on CPU COMMAND... runs it on that CPU. Emulators warn of what they leave out. What
# a program starts or hands over to runs on this machine's own CPU.
on() {
	local cpu=$1
	shift
	alone qemu-x86_64-static -cpu "$cpu" "$@" 2> >(grep -v 'warning: TCG' >&2)
}

# count FLAVOUR prints how many instructions of an engine are of AVX or later: their
# names begin with a v. The program's other parts have some too, in Go's and the C
# library's own functions, which ask the CPU first.
count() {
	"$objdump" --disassemble --no-show-raw-insn "$root/build/engine-$1/lib/"*.a |
		grep -cE '^ *[0-9a-f]+:[[:space:]]+v[a-z]' || true
}

check_instructions() {
	local old new
	old=$(count x64v2) new=$(count x64v3)
	echo "instructions of AVX in the engine: $old in the baseline program's, $new in the x86-64-v3 program's"
	((old == 0)) || bad "the baseline program's engine has instructions of AVX, which old PCs cannot run"
	((new > 0)) || bad "the x86-64-v3 program's engine has no AVX: it is no faster than the other"
}

check_choice() {
	expect "old PC (Nehalem)" "$(on Nehalem "$program" version)" '^program +baseline, the CPU does not report avx2, fma, f16c and bmi2'
	expect "between (SandyBridge)" "$(on SandyBridge "$program" version)" '^program +baseline, the CPU does not report avx2'
	expect "--cpu=native on an old PC" "$(on Nehalem "$program" version --cpu native 2>&1)" '^pichat: --cpu=native: .*would crash'
	expect "--cpu=baseline" "$(on Haswell "$program" --cpu=baseline version)" '^program +baseline, by'
	expect "the other program (Haswell)" "$(on Haswell "$inner" version)" 'flavour x64v3'
	expect "newer PC (Haswell)" "$(on Haswell "$program" version)" '^program +x86-64-v3, the CPU reports avx2, fma, f16c and bmi2'
	expect "too old a PC (core2duo)" "$(on core2duo "$program" version 2>&1)" '^This program can only be run on AMD64 processors with v2'
}

# check_control shows that these CPUs do refuse what they lack, so that the
# other checks mean something.
check_control() {
	local got
	got=$( (ulimit -c 0 && on Nehalem "$inner" probe-model "$model") 2>&1 || true)
	expect "the x86-64-v3 program alone, on an old PC" "$got" 'SIGILL|[Ii]llegal instruction'
}

# answer COMMAND... prints a greedy answer in one line, without the timings.
answer() {
	"$@" ask --model "$model" --temperature 0 --max-tokens 12 --context 512 --threads 2 "What is gravity?" \
		2>"$tmp/answer.log" | head -n -2 | tr '\n' ' '
}

# check_answer WHAT CPU COMMAND... compares the answer there with the one here: the
# same instructions give the same words, emulated or not.
check_answer() {
	local what=$1 cpu=$2 want got
	shift 2
	want=$(answer alone "$@") || fail "$what does not answer here: $(<"$tmp/answer.log")"
	got=$(answer on "$cpu" "$@") || got="no answer: $(<"$tmp/answer.log")"
	if [[ -n $want && $got == "$want" ]]; then
		ok "$what on $cpu: $got(as here, word for word)"
	else
		bad "$what on $cpu: '$got', but here '$want'"
	fi
}

[[ $(uname -s) == Linux ]] || skip "emulation takes Linux"
[[ $(uname -m) == x86_64 ]] || skip "programs that start others would need binfmt_misc on $(uname -m)"
for name in avx2 fma f16c bmi2; do
	grep -qw -m 1 "$name" /proc/cpuinfo || skip "this CPU has no $name: the second program could not be compared"
done
scripts/setup.sh amd64-test
for file in "$program" "$inner" "$model"; do
	[[ -s $file ]] || fail "$file is not there: run 'make amd64-test', which builds it"
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM HUP

check_instructions
check_choice
check_control
check_answer "the baseline program" Nehalem "$program" --cpu=baseline
check_answer "the x86-64-v3 program" Haswell "$inner"
conclude
