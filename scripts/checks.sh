# shellcheck shell=bash
# What the scripts that check something share: one line for each check, all of
# them made even if one fails. Sourced after lib.sh, never run.

failures=0

# ok and bad report one check.
ok() { printf 'ok    %s\n' "$*"; }
bad() {
	printf 'FAIL  %s\n' "$*"
	failures=$((failures + 1))
}

# expect WHAT GOT PATTERN checks that GOT matches the extended regular expression.
expect() {
	if grep -qE -- "$3" <<<"$2"; then
		ok "$1: $(grep -m 1 -E -- "$3" <<<"$2")"
	else
		bad "$1: no '$3' in: $2"
	fi
}

# conclude ends the script: with a fault where a check failed.
conclude() {
	((failures == 0)) || fail "$failures checks failed"
	say "all is well ($SECONDS s)"
}
