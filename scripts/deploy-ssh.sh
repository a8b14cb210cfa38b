# shellcheck shell=bash disable=SC2154 # sourced by deploy.sh, whose variables it uses
# How deploy.sh speaks with a target: one connection, steps run at the other
# end, and copies that go on where they were cut.

# connect opens the connection that everything else uses, so that a password is
# asked for once. It says in one line why it cannot.
connect() {
	local words options=(-o ControlPath="$work/%C" -o ConnectTimeout=10
		-o ServerAliveInterval=10 -o ServerAliveCountMax=3)
	[[ -t 0 ]] || options+=(-o BatchMode=yes)
	read -ra ssh <<<"${SSH:-ssh}"
	has "${ssh[0]}" || fail "there is no '${ssh[0]}' here: install an SSH client (apt-get install openssh-client)"
	ssh+=("${options[@]}")
	"${ssh[@]}" -o ControlMaster=yes -o ControlPersist=600 -fN "$target" </dev/null 2>"$work/words" && return
	words=$(tr -d '\r' <"$work/words" | grep -v '^[[:space:]]*$' | tail -n 1)
	case $(<"$work/words") in
	*"Could not resolve hostname"*)
		fail "$target: unknown host. Is the Pi on, and on this network? ($words)" ;;
	*"Permission denied"* | *"Too many authentication failures"*)
		fail "$target: the login was refused: wrong user, password or key. Try 'ssh $target' ($words)" ;;
	*"Connection refused"*)
		fail "$target: the connection was refused: SSH is off there; turn it on with raspi-config ($words)" ;;
	*"IDENTIFICATION HAS CHANGED"*)
		fail "$target: its host key is not the one known here. If the card was written anew: ssh-keygen -R ${target#*@} ($words)" ;;
	*"Host key verification failed"*)
		fail "$target: its host key is not known here yet. Run 'ssh $target' once and accept it ($words)" ;;
	*) fail "$target: no connection (${words:-ssh says nothing more})" ;;
	esac
}

disconnect() { "${ssh[@]}" -O exit "$target" 2>/dev/null || true; }

# become sets how a command becomes root there, by the target's facts. The
# password goes through standard input, never into a command line.
become() {
	sudo=() password=
	case ${facts[rights]} in
	root) ;;
	sudo) sudo=(sudo -n) ;;
	password)
		[[ -t 0 ]] || fail "$target: sudo asks for a password there, and there is no terminal here to ask you. Run this in a terminal, or use a login that may run sudo without one"
		read -rsp "sudo password on $target: " password </dev/tty
		printf '\n' >&2
		# -k: it must read the line below even when it remembers an earlier one.
		sudo=(sudo -k -S -p "''")
		check_password
		;;
	*) fail "$target: no root there: the login is neither root nor has sudo. Use one that has: make pi PI=pi@HOST" ;;
	esac
}

# check_password tries the password before anything depends on it: sudo would
# take the lines of a step for further tries.
check_password() {
	local words rc=0
	printf '%s\n' "$password" | "${ssh[@]}" "$target" "LC_ALL=C ${sudo[*]} true" >/dev/null 2>"$work/words" || rc=$?
	((rc)) || return 0
	words=$(tr -d '\r' <"$work/words" | grep -v '^[[:space:]]*$' | tail -n 1) || true
	case $(<"$work/words") in
	*"not in the sudoers file"* | *"not allowed to"* | *"may not run sudo"*)
		fail "$target: this login may not use sudo there. Nothing was changed; use one that may: make pi PI=pi@HOST ($words)" ;;
	*"incorrect password"* | *"no password was provided"* | *"password is required"*)
		fail "$target: sudo there does not take this password. Nothing was changed; run the same again ($words)" ;;
	esac
	((rc != 255)) || fail "$target: the connection was lost. Run the same again"
	fail "$target: sudo does not work there. Nothing was changed (${words:-it says nothing more})"
}

# settings NAME... prints these variables as lines of bash.
settings() {
	local name
	for name in "$@"; do printf '%s=%q\n' "$name" "${!name-}"; done
}

declare -A facts # what a look at the target found
sent=(sha256 default_port wanted_port wait_seconds model_seconds model_name user verify_seconds verify_tokens)

# remote STEP SCRIPT... runs a step of the scripts there as root, one at a time.
remote() { send_steps root "with_lock $1" "${@:2}"; }

# remote_as_user STEP SCRIPT... runs a step there as the user who logs in.
remote_as_user() { send_steps user "$@"; }

# send_steps root|user COMMAND SCRIPT... runs a command of the scripts there. They
# arrive on standard input, so that nothing is left behind.
send_steps() {
	local who=$1 command=$2 script rc=0 run=(bash -s)
	shift 2
	[[ $who == user ]] || run=("${sudo[@]}" "${run[@]}")
	{
		[[ $who == user || -z $password ]] || printf '%s\n' "$password"
		settings "${sent[@]}"
		for script in deploy-common.sh "$@"; do cat "$root/scripts/$script"; done
		# The braces are read as a whole: a command inside cannot eat what follows.
		printf '{ %s </dev/null; exit; }\n' "$command"
	} | "${ssh[@]}" "$target" "${run[*]}" || rc=$?
	((rc != 255)) || fail "$target: the connection was lost. Run the same again"
	return "$rc"
}

# read_facts STEP SCRIPT... fills facts with the lines that a look at the target prints.
read_facts() {
	local word name value text
	facts=()
	text=$(remote_as_user "$@") || fail "$target: could not be looked at"
	while read -r word name value; do
		[[ $word != fact ]] || facts[$name]=$value # a login may print words of its own
	done <<<"$text"
	[[ -n ${facts[user]+there} ]] || fail "$target: could not be looked at: is bash there?"
}

# use_rsync tells whether rsync copies: it is on both sides, and is no old or
# other one as on a Mac.
use_rsync() {
	[[ ${COPY:-rsync} == rsync && -n ${facts[rsync]} ]] && has rsync && rsync --info=help >/dev/null 2>&1
}

# lost says what a cut copy means.
lost() {
	fail "$target: the copy was cut off ($1). The running version is untouched; run the same again, and it goes on where it stopped"
}

# upload FILE PATH OFFSET copies a file there, from OFFSET on.
upload() {
	local file=$1 path=$2 offset=$3 size rc=0 progress=()
	size=$(stat -c %s "$file")
	((offset == 0)) || say "$target: going on with the copy: $(megabytes "$offset") of $(megabytes "$size") are there"
	if use_rsync; then
		[[ ! -t 2 ]] || progress=(--info=progress2)
		rsync --partial --inplace --timeout=60 "${progress[@]}" -e "$(printf '%q ' "${ssh[@]}")" \
			"$file" "$target:$path" >&2 2>"$work/words" || rc=$?
	else
		((offset <= size)) || offset=0
		((offset > 0)) || "${ssh[@]}" "$target" "rm -f $path" || lost "ssh ended with $?"
		tail -c "+$((offset + 1))" "$file" | "${ssh[@]}" "$target" "tee -a $path >/dev/null" 2>"$work/words" || rc=$?
	fi
	((rc == 0)) || copy_failed "$rc"
}

# copy_failed RC says why a copy ended.
copy_failed() {
	! grep -q 'No space left on device' "$work/words" ||
		fail "$target: the disk is full there: the copy stopped. The running version is untouched; make room, then run the same again"
	lost "$(grep -v '^[[:space:]]*$' "$work/words" | head -n 1 | tr -d '\r' || true)"
}
