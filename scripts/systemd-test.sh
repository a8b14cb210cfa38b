#!/usr/bin/env bash
# Tries dist/pichat_*_amd64.deb (or that of this machine's architecture) under a
# real systemd, booted in a scratch Debian: the unit's filters, port 80, readiness,
# the watchdog, the end, and the journal.
#
#   scripts/systemd-test.sh [FILE.deb]
#
# `make systemd-test` builds what it needs first. It takes root, and a hierarchy of
# control groups of version 2. Exits with 0 and a reason where this machine cannot
# do it.
#
# Environment: DEB_SUITE, the Debian to try in (default bookworm).
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=checks.sh
source "$(dirname "${BASH_SOURCE[0]}")/checks.sh"
# shellcheck source-path=SCRIPTDIR source=scratch.sh
source "$(dirname "${BASH_SOURCE[0]}")/scratch.sh"
# shellcheck source-path=SCRIPTDIR source=booted.sh
source "$(dirname "${BASH_SOURCE[0]}")/booted.sh"
cd "$root"
readonly model=models/SmolLM2-135M-Instruct.Q4_1.gguf
http=''

clean_up() {
	[[ -z $http ]] || kill "$http" 2>/dev/null || true
	shut_down
	rm -rf "$scratch" "$log"
}

# must WHAT COMMAND... is one check that the command succeeds.
must() {
	local what=$1
	shift
	if "$@" >"$log" 2>&1; then ok "$what"; else bad "$what: $(<"$log")"; fi
}

# wait_until WHAT TENTHS COMMAND... is one check that it does in time.
wait_until() {
	local what=$1 begin=$EPOCHREALTIME
	shift
	if eventually "$@"; then
		ok "$what ($(awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f s", b - a }'))"
	else
		bad "$what: $(<"$log") $(there journalctl --no-pager -n 20 -u pichat.service)"
	fi
}

# without_model: the page, the log and the package say what to do.
without_model() {
	there dpkg -i /root/pichat.deb >"$log" 2>&1 || fail "dpkg: $(<"$log")"
	expect "the package names the command" "$(<"$log")" '^  sudo pichat model pull smollm2-135m-instruct$'
	must "the port is open at once" there systemctl is-active pichat.socket
	wait_until "the page answers, and says why no model does" 100 says_no_model
	wait_until "systemctl status says so" 100 matches StatusText '^no model: .*sudo pichat model pull'
	wait_until "the journal has it as an error" 100 logs_no_model
	expect "an error is one line in words" "$(there journalctl -o cat -u pichat.service -p err)" 'no model found in .*fetch one with .sudo pichat model pull [a-z]'
	must "notices are not among the errors" not errors_have_notices
}

not() { ! "$@"; }
errors_have_notices() { [[ $(there journalctl -o cat -u pichat.service -p err) == *level=INFO* ]]; }
says_no_model() { [[ $(page /) == *'sudo pichat model pull '* ]]; }
logs_no_model() { [[ $(there journalctl -o cat -u pichat.service -p err) == *'no model found'* ]]; }

# with_model: the service takes a model that appears, under the unit's limits.
with_model() {
	local pid
	fetch_model
	wait_until "the service takes the model at its next try" 600 matches StatusText 'SmolLM2.*slot'
	expect "it is active" "$(property ActiveState)/$(property SubState)" '^active/running$'
	expect "its status" "$(property StatusText)" 'SmolLM2'
	pid=$(there systemctl show --value --property MainPID pichat.service)
	expect "its user" "$(there stat -c %U/%u "/proc/$pid")" '^pichat/6[0-9]{4}$'
	expect "its filters" "$(there cat "/proc/$pid/status" | paste -sd ' ')" 'CapEff:[[:space:]]0+ .*NoNewPrivs:[[:space:]]1 Seccomp:[[:space:]]2'
	must "MemoryDenyWriteExecute is on" is MemoryDenyWriteExecute yes
	expect_handover "$pid"
	expect "the page on port 80" "$(page /)" '<title>'
	expect "a chat" "$(page -H 'Content-Type: application/json' -d \
		'{"model":"x","messages":[{"role":"user","content":"What is gravity?"}],"max_tokens":8,"temperature":0}' \
		/v1/chat/completions 2>&1)" '"content":"[A-Z]'
}

# fetch_model runs the command that was named, as root and for an address here.
fetch_model() {
	local command address=http://127.0.0.1:8473
	command=$(there journalctl -o cat -u pichat.service -p err | sed -nE '1,/model pull/s/.*`sudo (pichat model pull) .*/\1/p' | head -n 1)
	nsenter --target "$init" --net python3 -m http.server --directory models --bind 127.0.0.1 8473 >"$scratch/http.log" 2>&1 &
	http=$!
	eventually 100 nsenter --target "$init" --net curl --silent --fail --output /dev/null "$address/" || fail "no server of files: $(<"$log")"
	# shellcheck disable=SC2086 # a command of three words
	must "the command fetches a model" there ${command:-no command was named} "$address/${model##*/}"
	kill "$http" && http=''
	expect "whose file every user may read" "$(there stat -c '%a %U %n' "/srv/pichat/models/${model##*/}")" '^644 root '
}

# expect_handover PID checks which of the file's programs serves.
expect_handover() {
	if [[ $(there pichat version) == *'x86-64-v3, '* || $(there pichat version) == *'Cortex-A76, '* ]]; then
		expect "it handed over to the faster program" "$(there readlink "/proc/$1/exe")" '^/memfd:pichat'
	else
		say "no handover on this CPU: $(there pichat version | grep ^program)"
	fi
}

# stuck_engine: a process that is stopped is not fed for, and so restarted.
stuck_engine() {
	local pid
	there mkdir -p /run/systemd/system/pichat.service.d
	printf '[Service]\nWatchdogSec=4\n' >"$scratch/watchdog.conf"
	there cp /watchdog.conf /run/systemd/system/pichat.service.d/
	there systemctl daemon-reload
	there systemctl restart pichat.service
	wait_until "it serves again after a restart" 600 matches StatusText 'SmolLM2.*slot'
	pid=$(property MainPID)
	there systemctl kill --kill-whom=main --signal=STOP pichat.service
	wait_until "the watchdog ends a stuck engine" 300 is_another "$pid"
	expect "the journal says so" "$(there journalctl -o cat --no-pager -u pichat.service)" 'Watchdog timeout'
	wait_until "and it serves again" 600 matches StatusText 'SmolLM2.*slot'
	there rm -r /run/systemd/system/pichat.service.d
	there systemctl daemon-reload
}

is_another() {
	local now
	now=$(property MainPID)
	[[ $now != 0 && $now != "$1" ]]
}

# ends: a stop in good order, with a client that still reads, and what starts it again.
ends() {
	local begin client
	page --no-buffer -H 'Content-Type: application/json' -d \
		'{"model":"x","messages":[{"role":"user","content":"Tell a long story about a mill."}],"max_tokens":900,"stream":true}' \
		/v1/chat/completions >"$scratch/stream" 2>&1 &
	client=$!
	wait_until "a reply streams" 300 grep -q '"content":"' "$scratch/stream"
	begin=$EPOCHREALTIME
	there systemctl stop pichat.service
	must "it stops within 10 s" awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a " s"; exit b - a > 10 }'
	wait "$client" || true
	expect "the client is told" "$(tail -n 4 "$scratch/stream")" 'error'
	expect "it ended by itself" "$(property Result) $(property ActiveState)" '^success inactive$'
	expect "the port is closed with it" "$(property ActiveState pichat.socket)" '^inactive$'
	there systemctl start pichat.socket
	expect "the port alone starts nothing" "$(property ActiveState)" '^inactive$'
	expect "a look at the page starts it" "$(page /)" '<title>'
	expect "and it is active" "$(property ActiveState)" '^active$'
}

exposure() {
	expect "its exposure, at most 2.0" "$(there systemd-analyze security --no-pager pichat.service | tail -n 1)" 'level for pichat.service: ([01]\.[0-9]|2\.0) '
}

purge() {
	must "it is purged" there dpkg -P pichat
	expect "nothing of it runs" "$(property ActiveState) $(property ActiveState pichat.socket)" '^inactive inactive$'
}

[[ $(uname -s) == Linux ]] || skip "systemd takes Linux"
((EUID == 0)) || skip "it takes root, to boot a systemd"
for name in debootstrap curl nsenter pgrep python3; do
	has "$name" || skip "$name is not here"
done
arch=$(dpkg --print-architecture)
deb=${1:-}
if [[ -z $deb ]]; then
	# shellcheck disable=SC2012 # names of our own making, and the newest is wanted
	deb=$(ls -t dist/pichat_*_"$arch".deb 2>/dev/null | head -n 1) || true
fi
for file in "$deb" "$model"; do
	[[ -s $file ]] || fail "${file:-a package for $arch in dist/} is not there: run 'make systemd-test', which makes it"
done
scratch=$(mktemp -d)
log=$(mktemp)
trap clean_up EXIT
trap 'exit 130' INT TERM HUP
unpack_systemd "$arch"
cp "$deb" "$scratch/root/pichat.deb"
boot
without_model
with_model
stuck_engine
ends
exposure
purge
conclude
