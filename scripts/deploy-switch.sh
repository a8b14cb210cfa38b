# shellcheck shell=bash disable=SC2154 # deploy-common.sh and deploy.sh set its variables
# The part of a deployment, on the target as root, that makes a release run and,
# if it does not come up, the one before again. It has no step of its own:
# deploy-release.sh and deploy-model.sh use it. It needs deploy-settings.sh.
#
#   /opt/pichat/current, previous   links to the release that runs, and ran before

# link NAME RELEASE points a link in /opt/pichat at a release, in one step.
link() {
	ln -sfn "releases/$2" "$opt/$1.new"
	mv -fT "$opt/$1.new" "$opt/$1"
}

# linked NAME prints the release that a link points at, or nothing.
linked() {
	[[ -d $opt/$1 ]] || return 0
	basename "$(readlink "$opt/$1")"
}

main_pid() { systemctl show -p MainPID --value pichat.service 2>/dev/null || echo 0; }

# restart starts the service anew, without waiting: a program that never comes
# up must not hold this up.
restart() {
	local name names=() sum
	for name in pichat.socket pichat.service; do
		[[ ! -e $units/$name ]] || names+=("$name")
	done
	systemctl daemon-reload
	systemctl -q enable "${names[@]}"
	# A socket takes a new port, or its first start, only while the service is stopped.
	sum=$(cat "$units/pichat.socket" "$units"/pichat.socket.d/*.conf 2>/dev/null | sha256sum) || true
	if [[ -e $units/pichat.socket ]] && {
		! systemctl is-active -q pichat.socket || [[ $sum != "$(cat "$opt/shipped/socket.sum" 2>/dev/null)" ]]
	}; then
		systemctl stop pichat.service pichat.socket || true
		systemctl start pichat.socket || return
		printf '%s\n' "$sum" >"$opt/shipped/socket.sum"
	fi
	systemctl restart --no-block pichat.service
}

# comes_up VERSION OLD-PID [ready] waits until the version answers from another
# process than before, and has its model loaded; without "ready" it is enough
# that it stays for 6 s, and, where there is no model to load, that it answers.
# Once it answers, loading may take $model_seconds.
comes_up() {
	local port deadline=$((SECONDS + wait_seconds)) pid last='' since=0
	port=$(service_port "$default_port")
	while ((SECONDS < deadline)); do
		pid=$(main_pid)
		if [[ $pid != 0 && $pid != "$2" && $(health "$port") == "$1" ]]; then
			[[ $pid == "$last" ]] || since=$SECONDS
			[[ -z $last || $pid == "$last" || ${3:-} != ready ]] || return # it went, and came again
			[[ -n $last || ${3:-} != ready ]] || deadline=$((SECONDS + model_seconds))
			last=$pid
			! ready "$port" || return 0
			if [[ ${3:-} != ready ]]; then
				((SECONDS - since < 6)) || return 0
				has_model || return 0
			fi
		fi
		sleep 0.5
	done
	return 1
}

# run_release NAME switches to a release and restarts; fails if it does not come
# up. One that runs already, with nothing changed around it, is left in peace.
run_release() {
	local pid
	changed=
	pid=$(main_pid)
	place_all "$releases/$1/kit" || return
	[[ -n $changed || $(linked current) != "$1" || $pid == 0 ||
		$(health "$(service_port "$default_port")") != "$(<"$releases/$1/version")" ]] || return 0
	link current "$1" && restart && comes_up "$(<"$releases/$1/version")" "$pid"
}

# switch_to NAME runs a release. If it does not come up, the one before runs
# again, and the script ends with the journal's last lines.
switch_to() {
	local old
	old=$(linked current)
	if run_release "$1"; then
		[[ -z $old || $old == "$1" ]] || link previous "$old"
		return
	fi
	say "$1 does not answer on port $(service_port "$default_port") within $wait_seconds s. The journal's last lines:"
	journalctl -u pichat.service -n 15 --no-pager -o cat 2>/dev/null | sed 's/^/    | /' >&2 || true
	if [[ -z $old || $old == "$1" ]]; then
		systemctl stop pichat.service || true
		[[ -n $old ]] || rm -f "$opt/current"
		fail "there is no earlier release to switch back to; the service is stopped"
	fi
	say "switching back to $old"
	run_release "$old" || fail "$old does not come up again either: look with 'journalctl -u pichat'"
	fail "$old runs again"
}
