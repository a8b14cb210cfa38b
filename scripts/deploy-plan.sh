# shellcheck shell=bash disable=SC2154,SC2034 # sourced by deploy.sh, whose variables it uses
# What deploy.sh decides before it changes anything: whether the program and the
# target fit, and which model.

megabytes() {
	local tenths=$((($1 + 50000) / 100000))
	echo "$((tenths / 10)).$((tenths % 10)) MB"
}

# check_settings looks at what does not depend on a target.
check_settings() {
	[[ $wait_seconds =~ ^[1-9][0-9]*$ ]] || fail "WAIT=$wait_seconds: want a number of seconds"
	[[ -z $wanted_port || $wanted_port =~ ^[1-9][0-9]{0,4}$ && $wanted_port -le 65535 ]] || fail "PORT=$wanted_port: want a port from 1 to 65535"
	default_port=$(sed -nE 's/^ListenStream=(.*:)?([0-9]+)$/\2/p' "$root/systemd/pichat.socket" 2>/dev/null | tail -n 1) || true
	default_port=${default_port:-80}
}

# check_binary looks at the program here, and at the checksums beside it.
check_binary() {
	local sums listed
	[[ -f $binary ]] || fail "$binary is not there: build it with 'make pi'"
	sha256=$(sha256sum "$binary" | cut -d ' ' -f 1)
	for sums in "$binary.sha256" "${binary%/*}"/SHA256SUMS; do
		[[ -f $sums ]] || continue
		listed=$(awk -v name="${binary##*/}" '$2 == name || $2 == "*" name { print $1 }' "$sums")
		[[ -z $listed || $listed == "$sha256" ]] ||
			fail "$binary is damaged: $sums says sha256 $listed, it has $sha256. Build it again with 'make pi'"
	done
	binary_machine=$(od -An -tu2 -j18 -N2 "$binary" | tr -d ' ')
}

machine_name() {
	case $1 in
	183) echo aarch64 ;;
	62) echo x86_64 ;;
	40) echo "32-bit ARM" ;;
	*) echo "machine $1" ;;
	esac
}

# judge refuses a target that cannot take the program, and says what to do.
judge() {
	local size need_kb
	if [[ ${facts[class]} != 64 ]]; then
		fail "$target: its system is ${facts[class]}-bit (the kernel may say aarch64 all the same). pichat needs the 64-bit Raspberry Pi OS: write the card anew with it"
	elif [[ $(elf_header) == 7f454c46 && ${facts[machine]} != "$binary_machine" ]]; then
		fail "$target: its system is for $(machine_name "${facts[machine]}"), ${binary##*/} for $(machine_name "$binary_machine")"
	elif [[ ${facts[systemd]} != yes ]]; then
		fail "$target: no systemd runs there, which starts and stops pichat"
	elif [[ ${facts[rights]} == none ]]; then
		fail "$target: no root there: the login is neither root nor has sudo. Use one that has, such as make pi PI=pi@HOST"
	elif [[ -n ${facts[deb]} && -z ${OVER_DEB:-} ]]; then
		fail "$target: pichat ${facts[deb]} is installed there from a .deb. Update it with a newer .deb, or remove it first (sudo apt remove pichat), or say OVER_DEB=1: then this release runs in its place"
	elif [[ -n ${facts[holder]} ]]; then
		fail "$target: port ${facts[port]} is taken by ${facts[holder]}. Stop that there, or take another port: make pi PI=$target PORT=8080"
	elif ((facts[memory_kb] < 300000)); then
		fail "$target: has $((facts[memory_kb] / 1000)) MB of memory; pichat with the smallest model needs 300 MB"
	fi
	size=$(stat -c %s "$binary")
	need_kb=$((size / 1000 - facts[partial] / 1000 + 8000))
	[[ -n ${facts[same]} ]] || ((facts[disk_kb] > need_kb)) ||
		fail "$target: the disk is full: $((facts[disk_kb] / 1000)) MB free, $((need_kb / 1000)) MB needed. Make room there; what runs is untouched"
	choose_model
}

# elf_header prints the first four bytes of the program; the test deploys a script.
elf_header() { od -An -tx1 -N4 "$binary" | tr -d ' '; }

# choose_model sets model_name, and model_file for a local file; both stay empty
# when the target keeps what it has.
choose_model() {
	local size
	model_name='' model_file=''
	case ${MODEL:-} in
	none) ;;
	'') [[ -n ${facts[model]} ]] || model_name=$(model_for_board) ;;
	*://*)
		model_name=$MODEL
		[[ $model_name =~ ^https?://[A-Za-z0-9._~:/%?=\&+-]+\.gguf$ ]] || fail "MODEL=$MODEL: want the http or https address of a .gguf file"
		;;
	*/* | *.gguf)
		[[ -f $MODEL ]] || fail "MODEL=$MODEL: no such file here"
		size=$(($(stat -c %s "$MODEL") / 1000))
		((size < facts[memory_kb])) || fail "$target: $MODEL takes $((size / 1000)) MB, the memory there is $((facts[memory_kb] / 1000)) MB: take a smaller model"
		((size < facts[models_kb])) || fail "$target: $MODEL takes $((size / 1000)) MB, $((facts[models_kb] / 1000)) MB are free there"
		model_file=$MODEL model_name=${MODEL##*/}
		[[ $model_name =~ ^[A-Za-z0-9][A-Za-z0-9._-]*\.gguf$ ]] || fail "MODEL=$MODEL: want a file name of letters, digits, '.', '_' and '-' that ends in .gguf"
		;;
	*)
		model_name=$MODEL
		[[ $model_name =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]] || fail "MODEL=$MODEL: neither a name of the catalogue nor a file"
		;;
	esac
}

# model_for_board prints the model that shows the point: the largest that writes
# about 5 tokens/s there by published figures (llama 3.2 3B Q4_K_M 4.6 on a Pi 5
# with 8 GB, gemma 3 1B Q4_K_M 4.3 on a Pi 4), and fits into memory.
model_for_board() {
	local mb=$((facts[memory_kb] / 1000)) board=${facts[board]}
	if [[ $board == *"Pi 5"* || $board == *"Compute Module 5"* ]] && ((mb > 7000)); then
		echo llama-3.2-3b-instruct
	elif ((mb > 1700)) && [[ $board != *"Pi 3"* && $board != *"Zero 2"* ]]; then
		echo gemma-3-1b-it
	else
		echo gemma-3-270m-it
	fi
}

# plan says what will be done.
plan() {
	local will=will how=rsync
	[[ -z ${DRY_RUN:-} ]] || will=would
	use_rsync || how=ssh
	say "$target: ${facts[board]:-no board name}, 64-bit $(machine_name "${facts[machine]}"), $((facts[memory_kb] / 1000)) MB memory, $((facts[disk_kb] / 1000)) MB free, root by ${facts[rights]}"
	if [[ -n ${facts[same]} ]]; then
		say "$target: $will keep the program: this build is there already"
	else
		say "$target: $will copy ${binary##*/} ($(megabytes "$(stat -c %s "$binary")")) by $how to /opt/pichat/releases"
		say "$target: $will switch from ${facts[running]:-${facts[release]:-nothing}}, on port ${facts[port]}"
	fi
	if [[ -z $model_name ]]; then
		say "$target: $will leave the model as it is"
	elif [[ -n $model_file ]]; then
		say "$target: $will copy the model $model_name ($(megabytes "$(stat -c %s "$model_file")"))"
	else
		say "$target: $will let pichat fetch the model $model_name"
	fi
}
