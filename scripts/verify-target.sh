# shellcheck shell=bash disable=SC2154 # deploy-common.sh and pi-verify.sh set its variables
# Runs the installed program's verify on the target, without root. Its report
# goes to standard output, after a line that names the program.
main() {
	local program port config=()
	for program in "$opt/current/pichat" "$scratch/usr/bin/pichat" ''; do
		[[ ! -x $program ]] || break
	done
	[[ -n $program ]] || fail "no pichat is installed there: put one there with make pi PI=…"
	"$program" verify --help >/dev/null 2>&1 ||
		fail "the program there has no 'verify' ($("$program" version 2>&1 | head -n 1)): bring it up to date with make pi PI=…"
	port=$(service_port "$default_port")
	[[ ! -r $env_file ]] || config=(--config "$env_file")
	printf 'program %s\n' "$program"
	"$program" verify --json --url "http://127.0.0.1:$port" --seconds "$verify_seconds" \
		--tokens "$verify_tokens" "${config[@]}"
}
