# shellcheck shell=bash disable=SC2154 # scratch and log are of those that source it
# Boots a scratch Debian's systemd and speaks to it. Sourced after lib.sh, checks.sh
# and scratch.sh, never run. It takes root, and control groups of version 2.
#
# The sourcing script sets scratch, the folder, and log, a file for the last output.

# The process that waits for the scratch system, its systemd, and its control group.
booted='' init='' group=''

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

# shut_down ends it and takes its control group away.
shut_down() {
	[[ -z $booted ]] || kill -KILL "$booted" 2>/dev/null || true
	[[ -z $booted ]] || wait "$booted" 2>/dev/null || true
	# Its folders empty themselves a moment after the last process is gone.
	[[ -z $group ]] || eventually 50 remove_group || say "$group could not be removed"
}

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
