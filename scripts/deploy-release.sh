# shellcheck shell=bash disable=SC2154 # deploy-common.sh and deploy.sh set its variables
# The part of a deployment, on the target as root, that keeps the releases.
# deploy.sh names the step: prepare, install_step, rollback_step. It needs
# deploy-settings.sh and deploy-switch.sh.
#
#   /opt/pichat/incoming/           what is being copied
#   /opt/pichat/releases/VERSION/   pichat, sha256, version, kit/ (units, settings, licences)
kept_releases=3

# newest_first prints the releases by the time they were put here.
newest_first() {
	find "$releases" -mindepth 1 -maxdepth 1 ! -name '.*' -printf '%T@ %f\n' 2>/dev/null | sort -rn | cut -d ' ' -f 2-
}

# prune removes all but the newest releases, never the one that runs or the one before.
prune() {
	local name kept=0 current previous
	current=$(linked current) previous=$(linked previous)
	for name in "$current" "$previous"; do
		[[ -z $name ]] || kept=$((kept + 1))
	done
	while IFS= read -r name; do
		[[ $name != "$current" && $name != "$previous" ]] || continue
		kept=$((kept + 1))
		((kept <= kept_releases)) || rm -rf "${releases:?}/$name"
	done < <(newest_first)
}

prepare() {
	mkdir -p "$releases"
	prepare_folder "$opt/incoming"
}

# unpack makes a release of what arrived, and prints its name.
unpack() {
	local part=$opt/incoming/$sha256.part tmp=$releases/.new version name words
	rm -rf "$tmp"
	mkdir -p "$tmp/kit"
	if [[ -e $part ]]; then
		verify "$part"
		chmod 755 "$part"
		mv -fT "$part" "$tmp/pichat"
	else
		cp --preserve "$opt/current/pichat" "$tmp/pichat"
	fi
	words=$("$tmp/pichat" version 2>&1) || fail "the program does not run here: ${words##*$'\n'}"
	version=$(awk 'NR == 1 { print $2 }' <<<"$words")
	[[ $version =~ ^[A-Za-z0-9][A-Za-z0-9._+~-]*$ ]] || fail "the program's version '$version' cannot name a release"
	tar -xf "$opt/incoming/kit.tar" -C "$tmp/kit" --no-same-owner
	printf '%s\n' "$version" >"$tmp/version"
	printf '%s\n' "$sha256" >"$tmp/sha256"
	chmod -R go+rX,go-w "$tmp"
	name=$version
	# Two builds may have one version: that of a changed clone, for one.
	[[ ! -e $releases/$name || $(<"$releases/$name/sha256") == "$sha256" ]] || name=$version.${sha256:0:8}
	sync -f "$tmp" # a power cut must not leave names without content
	if [[ -e $releases/$name ]]; then
		mv -fT "$tmp/pichat" "$releases/$name/pichat" # what is there may be damaged
		rm -rf "$releases/$name/kit"
		mv -T "$tmp/kit" "$releases/$name/kit"
		rm -rf "$tmp"
	else
		mv -T "$tmp" "$releases/$name"
	fi
	touch "$releases/$name"
	echo "$name"
}

# A release that never ran is of no use for a rollback.
drop_failed() { [[ $(linked current) == "$1" || $(linked previous) == "$1" ]] || rm -rf "${releases:?}/$1"; }

install_step() {
	local name before
	trap 'rm -rf "$releases/.new"' EXIT
	before=$(newest_first)
	name=$(unpack)
	grep -qxF "$name" <<<"$before" || trap 'drop_failed "'"$name"'"' EXIT # .new is gone by now
	switch_to "$name"
	prune
	rm -rf "$opt/incoming"
	say "$name runs, port $(service_port "$default_port")"
}

# whole NAME tells whether a release's program is still what was installed.
whole() { sha256sum --check --status <<<"$(<"$releases/$1/sha256")  $releases/$1/pichat" 2>/dev/null; }

rollback_step() {
	local current to
	current=$(linked current) to=$(linked previous)
	[[ -n $to ]] || to=$(newest_first | grep -vxF "$current" | head -n 1) || true
	[[ -n $current ]] || fail "nothing is deployed here"
	[[ -n $to && $to != "$current" ]] || fail "$current is the only release here: there is nothing to go back to"
	whole "$to" || fail "$to is damaged on the disk there (its sha256 is not the one it was installed with): nothing was switched, $current runs on. Deploy a release anew: make pi PI=HOST"
	say "going back from $current to $to"
	switch_to "$to"
	say "$to runs, port $(service_port "$default_port")"
}
