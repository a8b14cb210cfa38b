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
cd "$root"
readonly program=$root/dist/pichat-linux-arm64 inner=$root/build/pi/pichat-a76 host=$root/bin/pichat
readonly model=$root/models/SmolLM2-135M-Instruct.Q4_1.gguf
readonly binfmt=/proc/sys/fs/binfmt_misc entry=pichat-pi-test
readonly port=18473 ssh_port=18474
readonly objdump=${CROSS:-aarch64-linux-gnu-}objdump
# The first question has one likely beginning: 15 of 25 samples at temperature 1
# start "Gravity is a fundamental concept", 4 the next one. The second has two that
# are nearly as likely as each other ("The sky" 38 and "The answer" 42 of 120), so
# that another rounding may choose the other one.
readonly decided="What is gravity?" open="Why is the sky blue?" tokens=12
readonly all=(instructions refusals choice control process answers verify)
failures=0 mounted='' registered='' server='' sshd='' why_not=''

skip() {
	say "skipped: $*"
	exit 0
}

# ok and bad report one check.
ok() { printf 'ok    %s\n' "$*"; }
bad() {
	printf 'FAIL  %s\n' "$*"
	failures=$((failures + 1))
}

# expect WHAT GOT PATTERN checks that GOT matches the extended regular expression.
expect() {
	if grep -qE -- "$3" <<<"$2"; then
		ok "$1: $(grep -m 1 -E -- "$3" <<<"$2")"
	else
		bad "$1: no '$3' in: $2"
	fi
}

clean_up() {
	[[ -z $server ]] || kill "$server" 2>/dev/null || true
	[[ -z $sshd ]] || kill "$sshd" 2>/dev/null || true
	[[ ! -e $binfmt/$entry ]] || echo -1 >"$binfmt/$entry"
	[[ -z $mounted ]] || umount "$binfmt" || say "$binfmt stays mounted"
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

# arm_is_registered asks the kernel whether ARM programs go to an emulator. It does
# not try one: env would give a program that does not run to the shell, as a script.
arm_is_registered() {
	local text
	for text in "$binfmt"/*; do
		text=$(cat "$text" 2>/dev/null) || continue
		[[ $text == enabled* && $text == *'magic 7f454c460201'*b700* ]] && return
	done
	return 1
}

# register makes the kernel start ARM programs by qemu. F opens qemu now, so that
# it is found wherever the program that starts another looks. Fails with why_not
# set where this machine does not let it.
register() {
	[[ -z $registered ]] || return 0
	if [[ ! -e $binfmt/register ]]; then
		why_not="binfmt_misc cannot be mounted here (it takes root, and a kernel that has it)"
		mount -t binfmt_misc none "$binfmt" 2>/dev/null || return
		mounted=yes
	fi
	registered=yes
	if arm_is_registered; then
		say "ARM programs run here already; what is registered for them stays as it is"
		return
	fi
	# An ELF file of 64 bits, little-endian, for machine 183, AArch64.
	printf '%s' ":$entry:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:$(command -v qemu-aarch64-static):F" \
		2>/dev/null >"$binfmt/register" || {
		why_not="qemu cannot be registered with binfmt_misc (it takes root)"
		return 1
	}
	[[ -e $binfmt/$entry ]] || fail "the kernel took the registration, but $binfmt/$entry is not there"
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

# start_sshd makes a target for pi-verify: an sshd of its own on loopback, whose
# programs run on a Cortex-A76, and a scratch root with the program installed.
start_sshd() {
	local box=$tmp/box name
	mkdir -p "$box/opt/pichat/current" "$box/etc/systemd/system" "$box/etc/pichat" /run/sshd
	ln -s "$program" "$box/opt/pichat/current/pichat"
	echo "ListenStream=$port" >"$box/etc/systemd/system/pichat.socket"
	echo "PICHAT_MODEL=$model" >"$box/etc/pichat/pichat.env"
	for name in host user; do ssh-keygen -q -t ed25519 -N '' -f "$tmp/$name"; done
	cat >"$tmp/sshd_config" <<-END
		ListenAddress 127.0.0.1:$ssh_port
		HostKey $tmp/host
		AuthorizedKeysFile $tmp/user.pub
		StrictModes no
		UsePAM no
		PasswordAuthentication no
		KbdInteractiveAuthentication no
		PermitRootLogin prohibit-password
		PidFile none
		SetEnv DEPLOY_ROOT=$box HOME=$box QEMU_CPU=cortex-a76
	END
	cat >"$tmp/ssh_config" <<-END
		Host box
		  HostName 127.0.0.1
		  Port $ssh_port
		  IdentityFile $tmp/user
		  IdentitiesOnly yes
		  IdentityAgent none
		  GlobalKnownHostsFile /dev/null
		  UserKnownHostsFile $tmp/known_hosts
	END
	echo "[127.0.0.1]:$ssh_port $(<"$tmp/host.pub")" >"$tmp/known_hosts"
	/usr/sbin/sshd -D -e -f "$tmp/sshd_config" 2>"$tmp/sshd.log" &
	sshd=$!
}

# check_verify runs make pi-verify against the emulated target: few tokens, and
# a report that says whose figures they are not.
check_verify() {
	local words report rc=0
	if [[ ! -x /usr/sbin/sshd ]]; then
		say "verify is skipped: no /usr/sbin/sshd (apt-get install openssh-server)"
		return
	fi
	start_sshd
	SSH="ssh -F $tmp/ssh_config" make --no-print-directory pi-verify PI=box SECONDS=1 TOKENS=8 >"$tmp/verify.log" 2>&1 || rc=$?
	expect "pi-verify without a service (status $rc)" "$(<"$tmp/verify.log")" 'no service answers at http://127.0.0.1:'"$port"
	replace="exec" on cortex-a76 "$program" serve --model "$model" --slots 1 --context 512 --threads 2 \
		--listen "127.0.0.1:$port" --no-qr >"$tmp/serve.log" 2>&1 &
	server=$!
	if ! comes_up readyz; then
		bad "the server has no model: $(<"$tmp/serve.log")"
		return
	fi
	rc=0
	words=$(SSH="ssh -F $tmp/ssh_config" make --no-print-directory pi-verify PI=box SECONDS=1 TOKENS=8 2>&1) || rc=$?
	if ((rc == 0)); then ok "pi-verify finds nothing that differs"; else bad "pi-verify ends with $rc: $words"; fi
	expect "whose figures" "$words" 'NOT A RASPBERRY PI, BUT AN EMULATION. No figure in this file is a Pi'
	report=$(sed -nE 's/.*box: (dist\/verify\/box-not-a-pi-emulated-.*)\.json and \.md$/\1/p' <<<"$words")
	expect "its file" "$report" '^dist/verify/box-not-a-pi-emulated-'
	[[ -n $report ]] || return 0
	expect "flavour" "$(<"$report.md")" '^\| flavour that runs \| a76 \(as expected'
	expect "kernels" "$(<"$report.md")" '^\| kernels use \|.* dotprod'
	expect "pace, by emulation" "$(<"$report.md")" '^\| tokens/s \| [0-9.]+ \|'
	kill "$server"
	wait "$server" || true
	server=''
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
	if [[ $name != instructions && $name != refusals ]] && ! register; then
		check_alone
		break
	fi
	"check_$name"
done
((failures == 0)) || fail "$failures checks failed"
say "all is well ($SECONDS s)"
