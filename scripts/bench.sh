#!/usr/bin/env bash
# Runs the benchmarks of every package, or of those named.
#
#   scripts/bench.sh [PACKAGE...]
#
# Environment: GO, the go command to use (default build/go).
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root"
(($#)) || set -- ./...

# One package after the other: benchmarks that share the CPU measure each other.
"${GO:-build/go}" test -p 1 -timeout 60m -run '^$' -bench . -benchmem "$@" |
	{ grep -v -F '[no test files]' || true; }
