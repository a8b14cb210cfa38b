#!/usr/bin/env bash
# Tries dist/pichat-linux-arm64 on the emulated CPUs of a Pi 3, a Pi 4 and a Pi 5:
# which of its programs runs, and that it answers as this machine's own build does.
#
#   scripts/pi-test.sh [CHECK...]    all, or those named
#
# `make pi-test` builds what it needs first. Emulation is by qemu-user; that one
# program of the file starts another takes binfmt_misc, hence root. What is
# registered there for the test is taken back at its end. Speeds mean nothing.
# Where binfmt_misc cannot be had, as in most containers, it tries each program
# alone and says what that leaves out.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=checks.sh
source "$root/scripts/checks.sh"
# shellcheck source-path=SCRIPTDIR source=binfmt.sh
source "$root/scripts/binfmt.sh"
# shellcheck source-path=SCRIPTDIR source=pi-test-verify.sh
source "$root/scripts/pi-test-verify.sh"
cd "$root"
readonly program=$root/dist/pichat-linux-arm64 inner=$root/build/pi/pichat-a76 host=$root/bin/pichat
readonly model=$root/models/SmolLM2-135M-Instruct.Q4_1.gguf
readonly port=18473 ssh_port=18474
readonly objdump=${CROSS:-aarch64-linux-gnu-}objdump
# The first question has one likely beginning: 15 of 25 samples at temperature 1
# start "Gravity is a fundamental concept", 4 the next one. The second has two that
# are nearly as likely as each other ("The sky" 38 and "The answer" 42 of 120), so
# that another rounding may choose the other one.
readonly decided="What is gravity?" open="Why is the sky blue?" tokens=12
readonly all=(instructions refusals choice control process answers verify)
server='' sshd=''

clean_up() {
	[[ -z $server ]] || kill "$server" 2>/dev/null || true
	[[ -z $sshd ]] || kill "$sshd" 2>/dev/null || true
	unregister_arm
	rm -rf "$tmp"
}

# on CPU COMMAND... runs an ARM program on that CPU, with settings of nobody. With
# replace=exec it takes the place of this shell.
on() {
	local cpu=$1
	shift
	${replace:-} env -i PATH="$PATH" QEMU_CPU="$cpu" PICHAT_CONFIG=/dev/null \
		XDG_CACHE_HOME="$tmp/cache-$cpu-${QEMU_PAGESIZE:-}" \
		${QEMU_PAGESIZE:+QEMU_PAGESIZE="$QEMU_PAGESIZE"} ${PICHAT_CPU:+PICHAT_CPU="$PICHAT_CPU"} "$@"
}

# count FILE prints how many instructions of a file are integer dot products.
count() { "$objdump" --disassemble "$1" | grep -cE '[[:space:]][su]dot[[:space:]]' || true; }

check_instructions() {
	local baseline a76
	baseline=$(count "$program") a76=$(count "$inner")
	echo "dot products (sdot, udot): $baseline in the baseline program, $a76 in the Cortex-A76 program"
	((baseline == 0)) || bad "the baseline program has dot products, which no Pi 3 or Pi 4 can run"
	((a76 > 0)) || bad "the Cortex-A76 program has no dot products: it is no faster than the other"
}

# check_refusals makes the handover impossible, and the file go on all the same.
# Not where ARM programs run already: there it succeeds.
check_refusals() {
	[[ -e $binfmt/register ]] && return
	expect "handover that fails" "$(on cortex-a76 qemu-aarch64-static "$program" version 2>&1)" \
		'^program +baseline, handing over failed: exec .*format error'
}

check_choice() {
	expect "Pi 3 (cortex-a53)" "$(on cortex-a53 "$program" version)" '^program +baseline, the CPU does not'
	expect "Pi 4 (cortex-a72)" "$(on cortex-a72 "$program" version)" '^program +baseline, the CPU does not'
	expect "Pi 5 (cortex-a76)" "$(on cortex-a76 "$program" version)" '^program +Cortex-A76, the CPU reports'
	expect "its engine" "$(on cortex-a76 "$program" version)" 'flavour a76'
	expect "16 KiB pages" "$(QEMU_PAGESIZE=16384 on cortex-a76 "$program" version)" '^program +Cortex-A76, the CPU'
	expect "--cpu=baseline" "$(on cortex-a76 "$program" --cpu=baseline version)" '^program +baseline, by'
	expect "PICHAT_CPU=baseline" "$(PICHAT_CPU=baseline on cortex-a76 "$program" version)" '^program +baseline, by'
	expect "--cpu=native on a Pi 5" "$(on cortex-a76 "$program" version --cpu native)" '^program +Cortex-A76, by'
	expect "--cpu=native on a Pi 4" "$(on cortex-a72 "$program" version --cpu native 2>&1)" '^pichat: --cpu=native: .*would crash'
	expect "doctor" "$(on cortex-a76 "$program" doctor --model "$tmp/none" --listen 127.0.0.1:0 || true)" 'program +Cortex-A76, the CPU'
}

# check_control shows that these CPUs do refuse what they lack, so that the
# other checks mean something.
check_control() {
	local status=0
	(ulimit -c 0 && on cortex-a72 qemu-aarch64-static "$inner" probe-model "$model") >/dev/null 2>&1 || status=$?
	if ((status == 132)); then
		ok "the Cortex-A76 program alone, on a Pi 4: illegal instruction, as it should"
	else
		bad "the Cortex-A76 program alone, on a Pi 4, ended with $status, not with an illegal instruction"
	fi
}

# comes_up PATH waits for the server to answer there with success.
comes_up() {
	local i
	for ((i = 0; i < 600; i++)); do
		! curl --silent --fail --output /dev/null "http://127.0.0.1:$port/$1" || return 0
		kill -0 "$server" 2>/dev/null || return
		sleep 0.2
	done
	return 1
}

# check_process starts a server, and checks what must not change by the handover.
check_process() {
	local name
	echo kept >"$tmp/inherited"
	replace="exec" on cortex-a76 "$program" serve --backend scripted --listen "127.0.0.1:$port" --no-qr \
		>"$tmp/serve.log" 2>&1 7<"$tmp/inherited" &
	server=$!
	if ! comes_up healthz; then
		bad "the server does not answer: $(<"$tmp/serve.log")"
		return
	fi
	expect "server, handed over under its pid" "$(readlink /proc/"$server"/fd/*)" '^/memfd:pichat'
	expect "what it inherited" "$(readlink "/proc/$server/fd/7")" "^$tmp/inherited$"
	name=$(<"/proc/$server/comm")
	expect "its name" "$name" '^pichat$'
	kill "$server"
	if wait "$server"; then ok "SIGTERM ends it in good order"; else bad "SIGTERM: it ended with $?"; fi
	server=''
}

# answer QUESTION COMMAND... prints the answer in one line, without the timings.
answer() {
	local question=$1
	shift
	"$@" ask --model "$model" --temperature 0 --max-tokens "$tokens" --context 512 --threads 2 "$question" \
		2>"$tmp/answer.log" | head -n -2 | tr '\n' ' '
}

# check_answer LEAST WANT QUESTION CPU compares the answer with the host's word by
# word. The kernels of another CPU round differently, so a greedy answer may take
# another turn, but not within its first LEAST words.
check_answer() {
	local least=$1 question=$3 cpu=$4 same=0 want got text
	local name="$cpu${QEMU_PAGESIZE:+, pages of $QEMU_PAGESIZE}: $question"
	read -ra want <<<"$2"
	text=$(answer "$question" on "$cpu" "$program") || {
		bad "$name: no answer: $(<"$tmp/answer.log")"
		return
	}
	read -ra got <<<"$text"
	while ((same < ${#want[@]} && same < ${#got[@]})) && [[ ${want[same]} == "${got[same]}" ]]; do
		same=$((same + 1))
	done
	if ((same == ${#want[@]} && same == ${#got[@]})); then
		ok "$name: $text(as here, word for word)"
	elif ((same >= least)); then
		ok "$name: ${got[*]} (as here for $same words, which is where the roundings part)"
	else
		bad "$name: '${got[*]}', but here '${want[*]}'"
	fi
}

check_answers() {
	local want cpu here=(env -i PATH="$PATH" PICHAT_CONFIG=/dev/null XDG_CACHE_HOME="$tmp/cache-host" "$host")
	want=$(answer "$decided" "${here[@]}") || fail "this machine's own build does not answer: $(<"$tmp/answer.log")"
	echo "this machine's build: $decided $want"
	for cpu in cortex-a53 cortex-a72 cortex-a76; do
		check_answer 5 "$want" "$decided" "$cpu"
	done
	QEMU_PAGESIZE=16384 check_answer 5 "$want" "$decided" cortex-a76
	want=$(answer "$open" "${here[@]}")
	echo "this machine's build: $open $want"
	check_answer 1 "$want" "$open" cortex-a76
}

# check_alone tries both programs without the handover, each by an emulator that
# is started for it. An answer is out of reach: before it, the program starts
# itself to try the model.
check_alone() {
	local cpu name program_of=([53]=$program [72]=$program [76]=$inner)
	say "$why_not
skipped: the handover, the server under its pid, the greedy answers"
	for cpu in 53 72; do
		expect "baseline program on a cortex-a$cpu" \
			"$(on cortex-a$cpu qemu-aarch64-static "$program" version)" '^program +baseline, the CPU does not'
	done
	expect "Cortex-A76 program" "$(on cortex-a76 qemu-aarch64-static "$inner" version)" 'flavour a76'
	for cpu in 53 72 76; do
		name="the model, loaded on a cortex-a$cpu"
		expect "$name" "$(on cortex-a$cpu qemu-aarch64-static "${program_of[cpu]}" probe-model "$model" 2>&1 || true)" '"passed":true'
	done
	check_control
}

[[ $(uname -s) == Linux ]] || skip "emulation takes Linux"
[[ $(uname -m) != aarch64 ]] || skip "this machine is ARM itself: its own programs must not go to an emulator"
scripts/setup.sh pi-test
for file in "$program" "$inner" "$host" "$model"; do
	[[ -s $file ]] || fail "$file is not there: run 'make pi-test', which builds it"
done
tmp=$(mktemp -d)
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# The file is tried before anything is registered: refusals is about that.
(($#)) || set -- "${all[@]}"
for name in "$@"; do
	[[ " ${all[*]} " == *" $name "* ]] || fail "unknown check '$name': known are ${all[*]}"
	if [[ $name != instructions && $name != refusals ]] && ! register_arm; then
		check_alone
		break
	fi
	"check_$name"
done
conclude
