# shellcheck shell=bash disable=SC2154 # deploy-common.sh and deploy.sh set its variables
# The part of a deployment that runs on the target as root. deploy.sh names the
# step: prepare, install, rollback, prepare_model, install_model, pull_model.
#
#   /opt/pichat/releases/VERSION/   pichat, sha256, version, kit/ (units, settings, licences)
#   /opt/pichat/current, previous   links to the release that runs, and ran before
#   /opt/pichat/shipped/            units and settings as last put in place: what
#                                   differs from these was edited by the owner
releases=$opt/releases
kept_releases=3
changed= # whether units or settings were replaced

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

# alike A B compares two files, but for the choice of a model, which is a
# setting that the deployment itself writes.
alike() {
	[[ -f $1 && -f $2 ]] && cmp -s <(sed -E '/^#?PICHAT_MODEL=/d' "$1") <(sed -E '/^#?PICHAT_MODEL=/d' "$2")
}

# place NEW DEST puts a unit or the settings in place, unless the owner edited
# what is there: that is kept, and the new file goes beside it.
place() {
	local new=$1 dest=$2 shipped=$opt/shipped/${2##*/} chosen=
	mkdir -p "${dest%/*}" "$opt/shipped"
	if alike "$new" "$dest"; then
		: # nothing to change
	elif [[ ! -e $dest ]] || alike "$dest" "$shipped"; then
		[[ $dest != "$env_file" ]] || chosen=$(chosen_model)
		install -m 644 "$new" "$dest.tmp" || return
		mv -fT "$dest.tmp" "$dest" || return
		changed=yes
		[[ -z $chosen ]] || choose_model "$chosen"
	elif alike "$new" "$shipped"; then
		say "kept ${dest#"$scratch"}, which was edited here"
		return
	else
		install -m 644 "$new" "$dest.new" || return
		say "kept ${dest#"$scratch"}, which was edited here; what this release brings is beside it: ${dest#"$scratch"}.new"
	fi
	install -m 644 "$new" "$shipped"
}

# choose_model FILE makes FILE the model of the settings.
choose_model() {
	touch "$env_file"
	{
		sed -E '/^PICHAT_MODEL=/d' "$env_file"
		echo "PICHAT_MODEL=$1"
	} >"$env_file.tmp"
	chmod 644 "$env_file.tmp"
	mv -fT "$env_file.tmp" "$env_file"
}

# place_all KIT puts everything of a release in place that lives outside of it.
place_all() {
	local file
	for file in "$1"/pichat.service "$1"/pichat.socket; do
		[[ ! -f $file ]] || place "$file" "$units/${file##*/}" || return
	done
	[[ ! -f $1/pichat.env ]] || place "$1/pichat.env" "$env_file" || return
	[[ -n $wanted_port && $(service_port "$default_port") != "$wanted_port" ]] || return 0
	changed=yes
	mkdir -p "$units/pichat.socket.d"
	printf '[Socket]\nListenStream=\nListenStream=%s\n' "$wanted_port" >"$units/pichat.socket.d/port.conf"
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

# newest_first prints the releases by the time they were put here.
newest_first() {
	find "$releases" -mindepth 1 -maxdepth 1 ! -name '.*' -printf '%T@ %f\n' 2>/dev/null | sort -rn | cut -d ' ' -f 2-
}

# prune removes all but the newest releases, never the one that runs or the one before.
prune() {
	local name kept=0 current previous
	current=$(linked current) previous=$(linked previous)
	for name in "$current" "$previous"; do
		[[ -z $name ]] || kept=$((kept + 1))
	done
	while IFS= read -r name; do
		[[ $name != "$current" && $name != "$previous" ]] || continue
		kept=$((kept + 1))
		((kept <= kept_releases)) || rm -rf "${releases:?}/$name"
	done < <(newest_first)
}

# prepare_folder FOLDER makes a folder that the user may copy into; partial
# files of other builds go.
prepare_folder() {
	mkdir -p "$1" || fail "cannot make ${1#"$scratch"}"
	find "$1" -mindepth 1 ! -name "$sha256.part" -delete
	chown -R "$user" "$1"
	chmod 700 "$1"
}

prepare() {
	mkdir -p "$releases"
	prepare_folder "$opt/incoming"
}

# verify FILE tells whether the file that arrived is the one that was sent.
verify() {
	chown root: "$1"
	sha256sum --check --status <<<"$sha256  $1" && return
	rm -f "$1"
	fail "what arrived is not what was sent (sha256 is not $sha256): removed it. Nothing was switched; run the same again"
}

# unpack makes a release of what arrived, and prints its name.
unpack() {
	local part=$opt/incoming/$sha256.part tmp=$releases/.new version name words
	rm -rf "$tmp"
	mkdir -p "$tmp/kit"
	if [[ -e $part ]]; then
		verify "$part"
		chmod 755 "$part"
		mv -fT "$part" "$tmp/pichat"
	else
		cp --preserve "$opt/current/pichat" "$tmp/pichat"
	fi
	words=$("$tmp/pichat" version 2>&1) || fail "the program does not run here: ${words##*$'\n'}"
	version=$(awk 'NR == 1 { print $2 }' <<<"$words")
	[[ $version =~ ^[A-Za-z0-9][A-Za-z0-9._+~-]*$ ]] || fail "the program's version '$version' cannot name a release"
	tar -xf "$opt/incoming/kit.tar" -C "$tmp/kit" --no-same-owner
	printf '%s\n' "$version" >"$tmp/version"
	printf '%s\n' "$sha256" >"$tmp/sha256"
	chmod -R go+rX,go-w "$tmp"
	name=$version
	# Two builds may have one version: that of a changed clone, for one.
	[[ ! -e $releases/$name || $(<"$releases/$name/sha256") == "$sha256" ]] || name=$version.${sha256:0:8}
	sync -f "$tmp" # a power cut must not leave names without content
	if [[ -e $releases/$name ]]; then
		mv -fT "$tmp/pichat" "$releases/$name/pichat" # what is there may be damaged
		rm -rf "$releases/$name/kit"
		mv -T "$tmp/kit" "$releases/$name/kit"
		rm -rf "$tmp"
	else
		mv -T "$tmp" "$releases/$name"
	fi
	touch "$releases/$name"
	echo "$name"
}

# A release that never ran is of no use for a rollback.
drop_failed() { [[ $(linked current) == "$1" || $(linked previous) == "$1" ]] || rm -rf "${releases:?}/$1"; }

install_step() {
	local name before
	trap 'rm -rf "$releases/.new"' EXIT
	before=$(newest_first)
	name=$(unpack)
	grep -qxF "$name" <<<"$before" || trap 'drop_failed "'"$name"'"' EXIT # .new is gone by now
	switch_to "$name"
	prune
	rm -rf "$opt/incoming"
	say "$name runs, port $(service_port "$default_port")"
}

# whole NAME tells whether a release's program is still what was installed.
whole() { sha256sum --check --status <<<"$(<"$releases/$1/sha256")  $releases/$1/pichat" 2>/dev/null; }

rollback_step() {
	local current to
	current=$(linked current) to=$(linked previous)
	[[ -n $to ]] || to=$(newest_first | grep -vxF "$current" | head -n 1) || true
	[[ -n $current ]] || fail "nothing is deployed here"
	[[ -n $to && $to != "$current" ]] || fail "$current is the only release here: there is nothing to go back to"
	whole "$to" || fail "$to is damaged on the disk there (its sha256 is not the one it was installed with): nothing was switched, $current runs on. Deploy a release anew: make pi PI=HOST"
	say "going back from $current to $to"
	switch_to "$to"
	say "$to runs, port $(service_port "$default_port")"
}

# with_lock STEP runs a step alone. The other end may go away: what was begun ends.
with_lock() {
	trap '' HUP PIPE
	mkdir -p "$opt" || fail "cannot make ${opt#"$scratch"}"
	exec 9>"$opt/.lock"
	flock -n 9 || fail "another deployment is at work here: wait for it, then run the same again"
	"$1"
}
