# shellcheck shell=bash disable=SC2154 # deploy-common.sh and deploy.sh set its variables
# Looks at the target and changes nothing: prints `fact NAME VALUE` lines.

fact() { printf 'fact %s %s\n' "$1" "$2"; }

# elf FILE prints the class (32 or 64) and machine number of a program.
elf() {
	local bytes
	read -ra bytes < <(od -An -tu1 -N20 -w20 "$1")
	echo $((bytes[4] * 32)) $((bytes[18] + bytes[19] * 256))
}

# free_kb FOLDER prints the free space where the folder is, or will be.
free_kb() {
	local folder=$1
	until [[ -d $folder ]]; do folder=$(dirname "$folder"); done
	df -Pk "$folder" | awk 'NR == 2 { print $4 }'
}

# rights prints how to become root: root, sudo, password (sudo asks), none.
rights() {
	if [[ $(id -u) == 0 ]]; then
		echo root
	elif ! command -v sudo >/dev/null; then
		echo none
	elif sudo -n true 2>/dev/null; then
		echo sudo
	else
		echo password
	fi
}

# holder PORT prints who listens on the port, unless that is pichat itself.
holder() {
	local lines name as_root=()
	[[ $(rights) == sudo ]] && as_root=(sudo -n) # else names stay hidden
	command -v ss >/dev/null || return 0
	lines=$("${as_root[@]}" ss -Hltnp "sport = :$1" 2>/dev/null) || return 0
	[[ -n $lines ]] || return 0
	health "$1" >/dev/null && return 0
	systemctl is-active -q pichat.socket 2>/dev/null && [[ $(service_port 80) == "$1" ]] && return 0
	systemctl is-active -q pichat.service 2>/dev/null && [[ $(service_port 80) == "$1" ]] && return 0
	name=$(sed -nE 's/.*users:\(\("([^"]+)".*/\1/p' <<<"$lines" | head -n 1)
	echo "${name:-another program}"
}

# yes_if COMMAND prints yes if the command succeeds, else nothing.
yes_if() { if "$@"; then echo yes; fi; }

# is_current tells whether the build to deploy is the one that runs, and still whole.
is_current() {
	[[ -e $opt/current/sha256 && $(<"$opt/current/sha256") == "$sha256" ]] &&
		sha256sum --check --status <<<"$sha256  $opt/current/pichat" 2>/dev/null
}

# system_facts prints what any work there depends on.
system_facts() {
	local class machine
	# The shell tells the userland; `uname -m` tells the kernel, which is 64-bit
	# under a 32-bit Raspberry Pi OS too.
	read -r class machine < <(elf "$scratch/bin/sh")
	fact class "$class"
	fact machine "$machine"
	fact board "$(tr -d '\0' <"$scratch/proc/device-tree/model" 2>/dev/null || true)"
	fact memory_kb "$(awk '/^MemTotal:/ { print $2 }' "$scratch/proc/meminfo")"
	fact rights "$(rights)"
	fact user "$(id -un)"
}

main() {
	local port running
	system_facts
	fact disk_kb "$(free_kb "$opt")"
	fact models_kb "$(free_kb "$models")"
	fact systemd "$(yes_if test -d "$scratch/run/systemd/system")"
	fact deb "$(dpkg-query -W -f '${db:Status-Status} ${Version}' pichat 2>/dev/null | sed -n 's/^installed //p')"
	port=${wanted_port:-$(service_port "$default_port")}
	running=$(health "$(service_port "$default_port")") || true
	fact port "$port"
	fact running "$running"
	fact holder "$(holder "$port")"
	fact rsync "$(command -v rsync || true)"
	fact release "$(readlink "$opt/current" 2>/dev/null | sed 's|.*/||' || true)"
	fact partial "$(stat -c %s "$opt/incoming/$sha256.part" 2>/dev/null || echo 0)"
	fact same "$(yes_if is_current)"
	fact opt "$opt"
	fact models "$models"
	fact model "$(yes_if has_model)"
}
