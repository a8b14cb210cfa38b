#!/usr/bin/env bash
# Installs pichat on machines over ssh, one after the other, and stops at the
# first that fails. What ran before keeps running, or runs again, when anything
# goes wrong.
#
#   scripts/deploy.sh [--binary FILE] USER@HOST...    default dist/pichat-linux-arm64
#   scripts/deploy.sh --rollback USER@HOST...
#
# Environment:
#   DRY_RUN=1      check the target, say what would be done, change nothing
#   MODEL=NAME     a model of the program's catalogue, the address of a .gguf file,
#                  a local .gguf file, or none; without it a target that has no
#                  model gets one fit for its board
#   PORT=N         serve there on this port (default: as before, else 80)
#   WAIT=SECONDS   how long a new version may take to come up (default 60)
#   OVER_DEB=1     install even where a .deb of pichat is installed
#   SSH='ssh -F f' the SSH client and its options
#   COPY=ssh       copy without rsync
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=deploy-ssh.sh
source "$root/scripts/deploy-ssh.sh"
# shellcheck source-path=SCRIPTDIR source=deploy-plan.sh
source "$root/scripts/deploy-plan.sh"

# What the remote scripts are told; settings in deploy-ssh.sh lists these.
# shellcheck disable=SC2034
wanted_port=${PORT:-} wait_seconds=${WAIT:-60} model_seconds=600 user='' model_name='' sha256=''
ssh=() waiting=()

# What the steps need that switch to a release or to a model.
readonly run_it=(deploy-settings.sh deploy-switch.sh)

# pack_kit prints an archive of what a release holds beside the program.
pack_kit() {
	local name files=()
	rm -rf "$work/kit"
	mkdir "$work/kit"
	for name in LICENSE systemd/pichat.service systemd/pichat.socket systemd/pichat.env cmd/pichat/licences/third_party.txt; do
		[[ -f $root/$name ]] || continue
		cp -p "$root/$name" "$work/kit"
		files+=("${name##*/}")
	done
	COPYFILE_DISABLE=1 tar -C "$work/kit" --format=ustar -cf - "${files[@]}" # without a Mac's ._ files
}

# check_target fills facts with what deploy-check.sh sees there.
check_target() {
	read_facts main deploy-check.sh
	[[ -n ${facts[model]+there} ]] || fail "$target: could not be looked at to the end"
	# shellcheck disable=SC2034 # deploy-ssh.sh sends it
	user=${facts[user]}
}

# deploy_target installs the program on the target.
deploy_target() {
	local incoming
	check_target
	incoming=${facts[opt]}/incoming
	judge
	plan
	[[ -z ${DRY_RUN:-} ]] || return 0
	become
	remote prepare deploy-release.sh
	if [[ -z ${facts[same]} ]]; then
		upload "$binary" "$incoming/$sha256.part" "${facts[partial]}"
	fi
	pack_kit | "${ssh[@]}" "$target" "cat >$incoming/kit.tar" 2>"$work/words" || copy_failed $?
	remote install_step deploy-release.sh "${run_it[@]}" || fail "$target: not deployed"
	give_model || no_model
}

# no_model says what is left where a model could not be had.
no_model() {
	local left="pichat is deployed and goes on with the model it had"
	[[ -n ${facts[model]} ]] || left="pichat is deployed, but has no model: its page says so"
	say "$target: $left. To try again: make pi PI=$target MODEL=${MODEL:-$model_name}"
}

# give_model copies or pulls the model that choose_model of deploy-plan.sh chose.
# It runs apart, so that its failure ends nothing else; set -e is off in it.
give_model() (
	[[ -n $model_name ]] || return 0
	if [[ -z $model_file ]]; then
		remote pull_model "${run_it[@]}" deploy-model.sh
		return
	fi
	sha256=$(sha256sum "$model_file" | cut -d ' ' -f 1) || return
	offset=$(remote prepare_model deploy-model.sh) || return
	if [[ $offset != whole ]]; then
		say "$target: copying the model"
		upload "$model_file" "${facts[models]}/.incoming/$sha256.part" "$offset" || return
	fi
	remote install_model "${run_it[@]}" deploy-model.sh
)

roll_back_target() {
	check_target
	[[ -z ${DRY_RUN:-} ]] || {
		say "$target: would go back from ${facts[release]:-nothing}"
		return 0
	}
	become
	remote rollback_step deploy-release.sh "${run_it[@]}" || fail "$target: not rolled back"
}

main() {
	local action=deploy_target targets=()
	binary=$root/dist/pichat-linux-arm64
	while (($#)); do
		case $1 in
		--binary)
			binary=${2:?--binary needs a file}
			shift
			;;
		--rollback) action=roll_back_target ;;
		-*) fail "unknown option '$1': known are --binary FILE and --rollback" ;;
		*) targets+=("$1") ;;
		esac
		shift
	done
	((${#targets[@]})) || fail "no target: name one, such as make pi PI=pi@pichat.local"
	check_settings
	[[ $action == roll_back_target ]] || check_binary
	work=$(mktemp -d /tmp/pichat.XXXXXX) # a socket's path must be short
	trap clean_up EXIT
	while ((${#targets[@]})); do
		target=${targets[0]} waiting=("${targets[@]:1}")
		connect
		"$action"
		disconnect
		targets=("${waiting[@]}")
	done
}

# clean_up closes what is open, and names the targets that had no turn.
clean_up() {
	local rc=$?
	((${#ssh[@]} == 0)) || disconnect
	rm -rf "$work"
	((rc == 0 || ${#waiting[@]} == 0)) || say "not touched: ${waiting[*]}"
}

main "$@"
