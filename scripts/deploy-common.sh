# shellcheck shell=bash disable=SC2034,SC2154 # the scripts sent with it use its variables, deploy.sh sets some
# What the deployment's scripts share on the target: places, how to ask the
# server there, and how to take in what arrives. scripts/deploy.sh sends it ahead of
# the others, with settings as variables before it. Needs bash 4.4 and coreutils
# there, nothing else.
set -euo pipefail
shopt -s inherit_errexit

# A target whose files live below a folder: the deployment's own test.
scratch=${DEPLOY_ROOT:-}
opt=$scratch/opt/pichat
releases=$opt/releases
models=$scratch/srv/pichat/models
units=$scratch/etc/systemd/system
env_file=$scratch/etc/pichat/pichat.env

# say speaks to the person at the other end. A cut connection must not end a
# switch half way, so a line that nobody reads is no fault.
say() { printf '  %s\n' "$*" >&2 || true; }

fail() {
	say "$*"
	exit 1
}

# ask PORT PATH prints what the server there answers. Bash alone, since a small
# system may have neither curl nor wget.
ask() {
	# shellcheck disable=SC2016 # the inner bash expands it
	timeout 3 bash -c 'exec 3<>"/dev/tcp/127.0.0.1/$0" &&
		printf "GET %s HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n" "$1" >&3 && cat <&3' "$1" "$2" 2>/dev/null || true
}

# health PORT prints the version that answers there; fails when none does.
health() {
	[[ $(ask "$1" /healthz) =~ \"version\":[[:space:]]*\"([^\"]+)\" ]] && echo "${BASH_REMATCH[1]}"
}

# ready PORT tells whether the server there has its model loaded.
ready() { [[ $(ask "$1" /readyz) =~ \"ready\":[[:space:]]*true ]]; }

# service_port DEFAULT prints the port of the installed service: the last one of
# its socket unit and drop-ins, else that of its settings.
service_port() {
	local port
	port=$(cat "$units/pichat.socket" "$units"/pichat.socket.d/*.conf 2>/dev/null |
		sed -nE 's/^ListenStream=(.*:)?([0-9]+)$/\2/p' | tail -n 1) || true
	[[ -n $port || -e $units/pichat.socket ]] ||
		port=$(sed -nE 's/^PICHAT_LISTEN=.*:([0-9]+)$/\1/p' "$env_file" 2>/dev/null | tail -n 1) || true
	echo "${port:-$1}"
}

# chosen_model prints the model file that the settings name, if any.
chosen_model() {
	sed -nE 's/^PICHAT_MODEL=//p' "$env_file" 2>/dev/null | tail -n 1 || true
}

# has_model tells whether the service there has a model to start with.
has_model() {
	local chosen
	chosen=$(chosen_model)
	if [[ -n $chosen ]]; then
		[[ -s $scratch$chosen || -s $chosen ]]
	else
		compgen -G "$models/*.gguf" >/dev/null
	fi
}

# prepare_folder FOLDER makes a folder that the user may copy into; partial
# files of other builds go.
prepare_folder() {
	mkdir -p "$1" || fail "cannot make ${1#"$scratch"}"
	find "$1" -mindepth 1 ! -name "$sha256.part" -delete
	chown -R "$user" "$1"
	chmod 700 "$1"
}

# verify FILE tells whether the file that arrived is the one that was sent.
verify() {
	chown root: "$1"
	sha256sum --check --status <<<"$sha256  $1" && return
	rm -f "$1"
	fail "what arrived is not what was sent (sha256 is not $sha256): removed it. Nothing was switched; run the same again"
}

# with_lock STEP runs a step alone. The other end may go away: what was begun ends.
with_lock() {
	trap '' HUP PIPE
	mkdir -p "$opt" || fail "cannot make ${opt#"$scratch"}"
	exec 9>"$opt/.lock"
	flock -n 9 || fail "another deployment is at work here: wait for it, then run the same again"
	"$1"
}
