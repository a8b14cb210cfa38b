#!/usr/bin/env bash
# Collects the licences of everything that bin/pichat links, for
# `pichat version --licences`, or checks that the collection names what the
# program links now.
#
#   scripts/licences.sh write|check
#
# Environment: GO, the go command to use (default build/go).
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$root"
go=${GO:-build/go}
readonly text=cmd/pichat/licences/third_party.txt
readonly llama=build/llama.cpp

# linked_modules prints "path version folder" for each module linked, on any of
# the platforms we build for.
linked_modules() {
	local arch
	for arch in amd64 arm64; do
		GOOS=linux GOARCH=$arch CGO_ENABLED=1 "$go" list -deps \
			-f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/pichat
	done | LC_ALL=C sort -u
}

# inventory prints one line for each thing linked: what it is, and its version.
inventory() {
	echo "Go's standard library (the Go version is in 'pichat version')"
	echo "llama.cpp and ggml $(sed -nE 's/^readonly pinned_version=//p' scripts/engine.sh)"
	cut -d ' ' -f 1,2 <<<"$modules"
}

# recorded prints the inventory that the collection was made for.
recorded() { sed -n '/^# Linked$/,/^# Licences$/{/^  /s/^  //p}' "$text"; }

# licence_files FOLDER prints a module's licence and notice files.
licence_files() {
	find -L "$1" -maxdepth 1 -type f \
		\( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' \) ! -name '*.go' | LC_ALL=C sort
}

# section TITLE prints a heading and then stdin.
section() {
	printf '\n%s\n%s\n\n' "$1" "${1//?/-}"
	tr -d '\r'
}

# module_sections prints the licence texts of the Go modules. A text that
# several share word for word stands once, under all their names.
module_sections() {
	local path version folder file hash found order=()
	local -A names files
	while read -r path version folder; do
		found=
		while IFS= read -r file; do
			hash=$(sha256sum <"$file")
			[[ -n ${names[$hash]:-} ]] || order+=("$hash")
			names[$hash]="${names[$hash]:+${names[$hash]}, }$path"
			files[$hash]=$file found=yes
		done < <(licence_files "$folder")
		[[ -n $found ]] || fail "$path $version has no licence file in $folder: may we link it?"
	done <<<"$modules"
	for hash in "${order[@]}"; do
		section "${names[$hash]}" <"${files[$hash]}"
	done
}

# leading_comment FILE prints a C file's first block of // lines, bare.
leading_comment() { sed -n '/^\/\//!q; s|^// \{0,1\}||p' "$1"; }

collect() {
	cat <<-EOF
		pichat links the software below. The model that 'make model' fetches,
		SmolLM2-135M-Instruct (Hugging Face), is under the Apache License 2.0 and
		is not part of the program; other models have licences of their own.
		Written by scripts/licences.sh.

		# Linked
	EOF
	inventory | sed 's/^/  /'
	printf '\n# Licences\n'
	section "Go's standard library" <"$("$go" env GOROOT)/LICENSE"
	section "llama.cpp and ggml" <"$llama/LICENSE"
	leading_comment "$llama/ggml/src/ggml-cpu/llamafile/sgemm.cpp" |
		section "llama.cpp: ggml/src/ggml-cpu/llamafile/sgemm.cpp"
	module_sections
}

modules=$(linked_modules) || fail "go list failed: it says why above"
case ${1:-} in
write)
	collect >"$text.tmp"
	mv -f "$text.tmp" "$text"
	say "wrote $text: $(recorded | wc -l) entries, $(wc -c <"$text") bytes"
	;;
check)
	if ! difference=$(diff <(recorded) <(inventory)); then
		fail "$text does not name what the program links (< named, > linked); run 'make licences' and commit it"$'\n'"$difference"
	fi
	;;
*) fail "say write or check" ;;
esac
