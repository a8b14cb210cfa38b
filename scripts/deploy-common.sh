# shellcheck shell=bash disable=SC2034 # the scripts that are sent with it use its variables
# What the deployment's scripts share on the target: places, and how to ask the
# server there. scripts/deploy.sh sends it ahead of deploy-check.sh or
# deploy-install.sh, with settings as variables before it. Needs bash 4.4 and
# coreutils there, nothing else.
set -euo pipefail
shopt -s inherit_errexit

# A target whose files live below a folder: the deployment's own test.
scratch=${DEPLOY_ROOT:-}
opt=$scratch/opt/pichat
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
