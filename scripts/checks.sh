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
# Of a long line the part that matches is shown, with what stands around it.
expect() {
	local found
	if found=$(grep -m 1 -E -- "$3" <<<"$2"); then
		ok "$1: $(grep -oE -- ".{0,60}($3).{0,100}" <<<"$found" | head -n 1)"
	else
		bad "$1: no '$3' in: $(cut -c 1-300 <<<"$2" | tail -n 20)"
	fi
}

# conclude ends the script: with a fault where a check failed.
conclude() {
	((failures == 0)) || fail "$failures checks failed"
	say "all is well ($SECONDS s)"
}
