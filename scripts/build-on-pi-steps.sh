# shellcheck shell=bash disable=SC2154 # deploy-common.sh and build-on-pi.sh set its variables
# The part of a build on a Pi that runs there. build-on-pi.sh sends it, after
# deploy-common.sh and deploy-check.sh, and names the step: look, follow_running,
# prepare_sources, missing_packages, install_packages (as root), build.
#
#   ~/.cache/pichat/build/SENDER/   the sources of one clone, and what is made of them
#   ~/.cache/pichat/build/log, pid, result   of the build that runs, or was the last
cache=${PICHAT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/pichat}
build=$cache/build

look() {
	system_facts
	fact available_kb "$(awk '/^MemAvailable:/ { print $2 }' "$scratch/proc/meminfo")"
	fact build "$build"
	fact disk_kb "$(free_kb "$build")"
	fact apt "$(command -v apt-get || true)"
	fact engines "$(yes_if compgen -G "$cache/engine/*-a76-*/recipe.txt" | tail -n 1)"
}

# follow prints the log of the build that runs, until that ends.
follow() { tail -n +1 -s 0.2 -f --pid="$1" "$build/log" >&2; }

# follow_running waits for a build that was begun before and is still at work.
follow_running() {
	local pid
	mkdir -p "$build"
	exec 9>"$build/.lock"
	flock -n 9 && return
	pid=$(cat "$build/pid" 2>/dev/null) || pid=
	say "a build that was begun before is at work here: following it${pid:+ (to stop it: kill -- -$pid)}"
	[[ -z $pid ]] || follow "$pid"
	flock 9
}

# only_one takes the lock of the builds here, until the script ends.
only_one() {
	exec 9>"$build/.lock"
	flock -n 9 || fail "another build has begun here meanwhile: run the same again, and it is waited for"
}

# prepare_sources makes room for the sources. What was built of those before stays.
prepare_sources() {
	only_one
	mkdir -p "$sources"
	find "$sources" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
}

# missing_packages prints "packages" and the names of those that are missing.
missing_packages() { echo "packages $(bash "$sources/scripts/setup.sh" pi missing)"; }

install_packages() { bash "$sources/scripts/setup.sh" pi packages; }

# build builds the sources, in a session of its own that holds the lock: the other
# end may go away, what was begun ends. It leaves the rest of the Pi its turn.
build() {
	local pid
	only_one
	rm -f "$build/result"
	: >"$build/log"
	# shellcheck disable=SC2016 # the inner bash expands it
	VERSION=$build_version setsid nice -n 10 bash -c '
		cd "$1" && scripts/pi.sh
		echo $? >"$2/result"' - "$sources" "$build" >>"$build/log" 2>&1 </dev/null &
	pid=$!
	echo "$pid" >"$build/pid"
	exec 9>&-
	follow "$pid"
	[[ $(cat "$build/result" 2>/dev/null) == 0 ]] && return
	! grep -q 'No space left on device' "$build/log" || fail "the disk is full here: make room, then run the same again"
	! grep -qE 'Killed|signal: killed|internal compiler error' "$build/log" ||
		fail "a compiler was ended, for want of memory most likely: stop what else runs here, then run the same again"
	return 1
}
