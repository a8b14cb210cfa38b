# shellcheck shell=bash disable=SC2154 # deploy-common.sh and deploy.sh set its variables
# The deployment's steps on the target that give the service a model. They come
# last: a model that cannot be had undoes nothing.

# use_model FILE makes a file of the models folder the service's model. If the
# program does not load it, the settings are again what they were.
use_model() {
	local pid file=${1#"$scratch"}
	pid=$(main_pid)
	if [[ $(chosen_model) == "$file" ]] && ready "$(service_port "$default_port")"; then
		return
	fi
	cp -p "$env_file" "$env_file.before"
	choose_model "$file"
	restart
	if ! comes_up "$(<"$opt/current/version")" "$pid" ready; then
		journalctl -u pichat.service -n 10 --no-pager -o cat 2>/dev/null | sed 's/^/    | /' >&2 || true
		mv -fT "$env_file.before" "$env_file"
		restart
		fail "the service does not load ${file##*/}: the settings are as they were before"
	fi
	rm -f "$env_file.before"
	say "the model is ${file##*/}"
}

# prepare_model prints how much of a local model is there: a folder to copy into
# is made, or "whole" printed when the model is there already.
prepare_model() {
	if [[ -f $models/$model_name ]] && sha256sum --check --status <<<"$sha256  $models/$model_name"; then
		echo whole
		return
	fi
	mkdir -p "$models"
	chmod 755 "$models"
	prepare_folder "$models/.incoming"
	stat -c %s "$models/.incoming/$sha256.part" 2>/dev/null || echo 0
}

install_model() {
	local part=$models/.incoming/$sha256.part
	if [[ -e $part ]]; then
		verify "$part"
		chmod 644 "$part"
		mv -fT "$part" "$models/$model_name"
		rm -rf "$models/.incoming"
	fi
	use_model "$models/$model_name"
}

# pull_model lets the program fetch a model of its catalogue or from an address,
# verified by it. Its one line on standard output is where the file is.
pull_model() {
	local file=$models/${model_name##*/}
	mkdir -p "$models"
	chmod 755 "$models"
	if [[ $model_name == *://* && -s $file ]]; then
		say "${file##*/} is there already: no checksum is known for it, so it is taken as it is"
	else
		file=$("$opt/current/pichat" model pull "$model_name" --dir "$models") || fail "the model $model_name could not be fetched"
	fi
	[[ $file == "$models"/*.gguf && -s $file ]] || fail "the model $model_name was fetched, but what pichat says of its place is no file: '$file'"
	chmod 644 "$file"
	use_model "$file"
}
