#!/usr/bin/env bash
# Checks what needs no run of the program: formatting, generated files, vet,
# staticcheck, the shell scripts and the list of third-party licences. Changes
# nothing, checks everything, and fails at the end if anything was wrong.
#
#   scripts/lint.sh
#
# Environment: GO, the go command to use (default build/go).
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root"
go=${GO:-build/go}

# Every file that is in git, or would be with the next commit.
files() { git ls-files --cached --others --exclude-standard --deduplicate -- "$@"; }

unformatted_go() {
	local bad
	bad=$(files '*.go' | xargs -r -d '\n' "$("$go" env GOROOT)/bin/gofmt" -l)
	[[ -z $bad ]] || fail "gofmt would change these, run 'gofmt -w' on them:"$'\n'"$bad"
}

unformatted_templ() {
	local file bad=()
	while IFS= read -r file; do
		[[ $("$go" tool templ fmt -log-level error <"$file") == "$(<"$file")" ]] || bad+=("$file")
	done < <(files '*.templ')
	((${#bad[@]} == 0)) || fail "run 'go tool templ fmt' on: ${bad[*]}"
}

stale_templ() {
	"$go" tool templ generate -check -log-level error ||
		fail "the Go files of templates are not current: run 'make generate' and commit them"
}

bad_shell() {
	if ! has shellcheck; then
		say "shellcheck is not here: the shell scripts go unchecked (apt-get install shellcheck)"
		return
	fi
	shellcheck -x .ci/run scripts/*.sh
}

# check WHAT COMMAND... runs one check and remembers a failure.
check() {
	local what=$1
	shift
	("$@") && return
	failed+=("$what")
}

main() {
	failed=()
	check gofmt unformatted_go
	check templ-fmt unformatted_templ
	check templ-generate stale_templ
	check vet "$go" vet ./...
	check staticcheck "$go" tool -modfile=tools/go.mod staticcheck ./...
	check shellcheck bad_shell
	check licences env GO="$go" scripts/licences.sh check
	((${#failed[@]} == 0)) || fail "failed: ${failed[*]}"
}

main "$@"
