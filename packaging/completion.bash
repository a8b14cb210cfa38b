# Completion of pichat's commands and flags in bash. Both come from the help of
# the program that is installed, so that they fit it.

# _pichat_words COMMAND... prints what may follow.
_pichat_words() {
	"$program" "$@" --help 2>/dev/null |
		sed -nE -e 's/^ +(-[a-z], )?(--[a-z-]+).*/\2/p' -e '/^Commands:/,/^[A-Z]/s/^  ([a-z]+( [a-z]+)?) .*/\1/p'
}

_pichat() {
	local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
	local word commands=()
	for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		[[ $word == -* ]] && break
		commands+=("$word")
	done
	COMPREPLY=()
	case $previous in
	--model | -m | --models | --cache | --config | info | check)
		[[ $current == -* ]] || {
			mapfile -t COMPREPLY < <(compgen -f -- "$current")
			compopt -o filenames 2>/dev/null
			return
		}
		;;
	--backend) mapfile -t COMPREPLY < <(compgen -W 'llama scripted' -- "$current") && return ;;
	--log-level) mapfile -t COMPREPLY < <(compgen -W 'debug info warn error' -- "$current") && return ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$(_pichat_words "${commands[@]}")" -- "$current")
}

complete -F _pichat pichat
