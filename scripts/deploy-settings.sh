# shellcheck shell=bash disable=SC2154,SC2034 # the other scripts set its variables, and use what it sets
# The part of a deployment, on the target as root, that puts units and settings in
# place and leaves alone what the owner edited. It has no step of its own:
# deploy-switch.sh and deploy-model.sh use it.
#
#   /opt/pichat/shipped/   units and settings as last put in place: what differs
#                          from these was edited by the owner
changed= # whether units or settings were replaced

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
