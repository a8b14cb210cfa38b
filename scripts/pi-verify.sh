#!/usr/bin/env bash
# Has the pichat that is installed on a machine verified there, over ssh: which
# program runs, each sensor against what is expected of the board, pace and
# temperature while it writes. The report is kept as
# dist/verify/HOST-BOARD-VERSION.json, and for people as .md beside it.
#
#   scripts/pi-verify.sh USER@HOST...
#
# It fails where something is not as expected; the report says what.
#
# Environment:
#   SECONDS_OF_WRITING=N   least time of writing to measure over (default 60)
#   TOKENS=N               longest reply (default 256)
#   SSH='ssh -F f'         the SSH client and its options
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source-path=SCRIPTDIR source=deploy-ssh.sh
source "$root/scripts/deploy-ssh.sh"

# What the remote script is told; settings in deploy-ssh.sh lists these.
# shellcheck disable=SC2034
default_port=80 verify_seconds=${SECONDS_OF_WRITING:-60} verify_tokens=${TOKENS:-256}
readonly reports=$root/dist/verify
ssh=() failed=()

# check_number NAME VALUE LEAST MOST refuses what the program there would refuse.
check_number() {
	if ! [[ $2 =~ ^[1-9][0-9]{0,4}$ ]] || (($2 < $3 || $2 > $4)); then
		fail "$1=$2 is not a whole number from $3 to $4"
	fi
}

# field NAME FILE prints a text or truth value of the report's outermost level.
field() { sed -nE 's/^  "'"$1"'": "?([^",]*)"?,?$/\1/p' "$2" | head -n 1; }

# verify_target leaves a report of the target; fails where something differs.
verify_target() {
	local rc=0 program name report
	say "$target: measuring for at least $verify_seconds s"
	remote_as_user main verify-target.sh >"$work/answer" || rc=$?
	# A login may print words of its own in front.
	program=$(sed -n 's/^program //p' "$work/answer" | head -n 1)
	awk 'begun { print } /^program / { begun = 1 }' "$work/answer" >"$work/report.json"
	name=$(field file_name "$work/report.json")
	[[ -n $program && -n $name ]] || fail "$target: no report: the lines above say why"
	report=$reports/$(tr -c 'A-Za-z0-9.-' - <<<"${target#*@}" | sed 's/-*$//')-$name
	"${ssh[@]}" "$target" "$program verify --config /dev/null --show -" <"$work/report.json" >"$work/report.md" ||
		fail "$target: the report came, but the program there cannot print it"
	if ! { mkdir -p "$reports" && mv -f "$work/report.json" "$report.json" && mv -f "$work/report.md" "$report.md"; }; then
		fail "$target: the report cannot be kept in $reports"
	fi
	sed -n '1,/^## /{/^## /d;p}' "$report.md"
	say "$target: ${report#"$root"/}.json and .md"
	[[ $(field pi "$report.json") == true ]] || say "$target: NOT A RASPBERRY PI: no figure of this report is a Pi's"
	((rc == 0)) || say "$target: not everything is as expected"
	return "$rc"
}

# one_target runs in a process of its own, so that a target without a report does
# not keep the others from theirs.
one_target() (
	trap '((${#ssh[@]} == 0)) || disconnect' EXIT
	connect
	verify_target
)

main() {
	(($#)) || fail "no target: name one, such as make pi-verify PI=pi@pichat.local"
	check_number SECONDS "$verify_seconds" 1 3600
	check_number TOKENS "$verify_tokens" 2 4096
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	for target in "$@"; do
		one_target || failed+=("$target")
	done
	((${#failed[@]} == 0)) || fail "not verified: ${failed[*]}"
}

main "$@"
