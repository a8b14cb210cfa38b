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
cd "$root"
readonly model=models/SmolLM2-135M-Instruct.Q4_1.gguf
booted='' init='' group=''

clean_up() {
	[[ -z $booted ]] || kill -KILL "$booted" 2>/dev/null || true
	[[ -z $booted ]] || wait "$booted" 2>/dev/null || true
	# Its folders empty themselves a moment after the last process is gone.
	[[ -z $group ]] || eventually 50 remove_group || say "$group could not be removed"
	rm -rf "$scratch" "$log"
}

# shellcheck disable=SC2317 # eventually calls it
remove_group() { find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || [[ ! -d $group ]]; }

# eventually TENTHS COMMAND... runs a command until it succeeds, for so many
# tenths of a second.
eventually() {
	local left=$1
	shift
	until "$@" >"$log" 2>&1; do
		((left-- > 0)) || return 1
		sleep 0.1
	done
}

# there COMMAND... runs a command of the scratch root under its systemd.
there() { nsenter --target "$init" --all env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }

# page ARG... asks the page on port 80 there; PATH comes last.
page() {
	local args=("$@") path
	path=${args[-1]}
	unset 'args[-1]'
	nsenter --target "$init" --net curl --silent --show-error --fail --max-time 60 "${args[@]}" "http://127.0.0.1$path"
}

# property NAME [UNIT] prints what systemd knows of the service.
property() { there systemctl show --value --property "$1" "${2:-pichat.service}"; }

# is NAME VALUE and matches NAME PATTERN compare it.
is() { [[ $(property "$1") == "$2" ]]; }
matches() { [[ $(property "$1") =~ $2 ]]; }

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

group_of_version_2() { awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts; }

# boot starts the scratch root's systemd and finds its PID 1.
boot() {
	local parent
	parent=$(group_of_version_2)
	[[ -n $parent && -w $parent/cgroup.procs ]] ||
		skip "no control groups of version 2 are mounted, or not for writing: systemd needs some of its own"
	group=$parent/pichat-systemd-test-$$
	mkdir "$group" 2>/dev/null || { group='' && skip "no control group can be made in $parent"; }
	scripts/boot-scratch.sh "$scratch" "$group" >"$scratch/boot.log" 2>&1 &
	booted=$!
	eventually 100 find_init || skip "systemd does not begin here: $(tail -n 3 "$scratch/boot.log")"
	eventually 300 there systemctl is-active multi-user.target ||
		skip "systemd does not come up here: $(tail -n 3 "$scratch/boot.log")"
	ok "booted: $(there systemctl --version | head -n 1), $(there systemctl is-system-running)"
}

# find_init succeeds once the child of unshare is systemd.
find_init() {
	init=$(pgrep --parent "$booted") && [[ $(<"/proc/$init/comm") == systemd ]]
}

# without_model: the page, the log and the package say what to do.
without_model() {
	there dpkg -i /root/pichat.deb >"$log" 2>&1 || fail "dpkg: $(<"$log")"
	expect "the package names the command" "$(<"$log")" '^  sudo pichat model pull smollm2-135m-instruct$'
	must "the port is open at once" there systemctl is-active pichat.socket
	wait_until "the page answers, and says why no model does" 100 says_no_model
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
	install -m 644 "$model" "$scratch/srv/pichat/models/"
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
	there kill -STOP "$pid"
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
for name in debootstrap curl nsenter pgrep; do
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
unpack_scratch "$arch" systemd systemd-sysv libnss-systemd init-system-helpers dbus
cp "$deb" "$scratch/root/pichat.deb"
boot
without_model
with_model
stuck_engine
ends
exposure
purge
conclude
