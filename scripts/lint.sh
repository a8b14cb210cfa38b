#!/usr/bin/env bash
# Checks what needs no run of the program. Changes nothing, makes every check
# even if one fails, and fails at the end if any did.
#
#   scripts/lint.sh [CHECK...]    all, or those named
#
# Environment: GO, the go command to use (default build/go).
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root"
go=${GO:-build/go}

readonly all=(gofmt templ_fmt generated vet staticcheck shell systemd licences)

# files PATTERN... prints the files that are in git, or would be with the next commit.
files() {
	local file
	while IFS= read -r file; do
		[[ ! -f $file ]] || echo "$file"
	done < <(git ls-files --cached --others --exclude-standard --deduplicate -- "$@")
}

check_gofmt() {
	local bad
	bad=$(files '*.go' | xargs -r -d '\n' "$("$go" env GOROOT)/bin/gofmt" -l)
	[[ -z $bad ]] || fail "gofmt would change these, run 'gofmt -w' on them:"$'\n'"$bad"
}

check_templ_fmt() {
	local file bad=()
	while IFS= read -r file; do
		[[ $("$go" tool templ fmt -log-level error <"$file") == "$(<"$file")" ]] || bad+=("$file")
	done < <(files '*.templ')
	((${#bad[@]} == 0)) || fail "run 'go tool templ fmt' on: ${bad[*]}"
}

# What make generate writes: the Go files of the page's templates.
check_generated() {
	"$go" tool templ generate -check -log-level error -path web/views ||
		fail "the Go files of the page's templates are not current: run 'make generate' and commit them"
}

check_vet() { "$go" vet ./...; }

check_staticcheck() { "$go" tool -modfile=tools/go.mod staticcheck ./...; }

check_shell() {
	if has shellcheck; then
		shellcheck -x .ci/run scripts/*.sh
	else
		say "shellcheck is not here: the shell scripts go unchecked (apt-get install shellcheck)"
	fi
}

# The service is held to the exposure we promise: 2.0 of 10 at most.
check_systemd() {
	if has systemd-analyze; then
		systemd-analyze security --offline=true --threshold=20 systemd/pichat.service >/dev/null ||
			fail "the service is exposed to more than 2.0: systemd-analyze security --offline=true systemd/pichat.service"
	else
		say "systemd-analyze is not here: the service's exposure goes unchecked"
	fi
}

check_licences() { GO=$go scripts/licences.sh check; }

main() {
	local name failed=()
	(($#)) || set -- "${all[@]}"
	for name in "$@"; do
		[[ " ${all[*]} " == *" $name "* ]] || fail "unknown check '$name': known are ${all[*]}"
		"${BASH_SOURCE[0]}" --one "$name" || failed+=("$name")
	done
	((${#failed[@]} == 0)) || fail "failed: ${failed[*]}"
}

# Each check runs in a process of its own: bash forgets `set -e` inside a
# function whose failure is looked at.
if [[ ${1:-} == --one ]]; then
	"check_$2"
else
	main "$@"
fi
