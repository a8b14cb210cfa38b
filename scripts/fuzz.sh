#!/usr/bin/env bash
# Runs every fuzz target for a short while.
#
#   scripts/fuzz.sh [TIME]    TIME for each target, default 10s
#
# Environment: GO, the go command to use (default build/go).
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root"
go=${GO:-build/go}
time=${1:-10s}

# go test -fuzz takes one target at a time.
count=0
while IFS=: read -r file line; do
	target=${line#func }
	target=${target%%(*}
	package=./$(dirname "$file")
	say "$package $target, $time"
	"$go" test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$time"
	count=$((count + 1))
done < <(git grep --untracked -E '^func Fuzz[A-Za-z0-9_]+\(' -- '*_test.go')
say "$count fuzz targets, no fault found"
