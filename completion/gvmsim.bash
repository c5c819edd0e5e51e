# SPDX-License-Identifier: MIT OR GPL-2.0
# shellcheck shell=bash
# Completion of gvmsim and gvmcollect for bash. The words come from the programs themselves: commands and
# options from --help, names from "gvmsim reference --words". So a new one needs no change here.

# Commands: the words after "gvmsim" in lines such as "  gvmsim run SCENARIO ...". With a second argument its
# own commands: the words after "gvmsim trace".
_gvmsim_commands() {
	"$1" --help 2>/dev/null | sed -n "s/^  ${1##*/} ${2:+$2 }\([a-z][a-z]*\) .*/\1/p" | sort -u
}

# Options of a command: those of its lines of usage. Other text may name options of other programs.
_gvmsim_options() {
	"$@" --help 2>/dev/null | grep '^Usage:' | grep -oE '[ [|]--[a-z-]+' | tr -d ' [|' | sort -u
	echo --help
}

# Keys of scenarios; those with an index of an event are left out.
_gvmsim_keys() {
	"$1" reference --words keys 2>/dev/null | sed 's/^\([a-z]*\)\.\*\./\1.NAME./; /#/d; s/$/=/'
}

_gvmsim_set() {
	local program=$1 now=$2 name
	# containers.vllm.ap: the keys of any container, with this one's name; so for gpus.
	case $now in
	containers.*.* | gpus.*.*)
		name=${now#*.}
		name=${name%%.*}
		_gvmsim_keys "$program" | sed "s/^${now%%.*}\.NAME\./${now%%.*}.$name./"
		;;
	*) _gvmsim_keys "$program" ;;
	esac
}

# Words before the one at the cursor, without options and their values. The pieces of "4242:0", which bash
# divides, are one.
_gvmsim_operands() {
	local count=0 i

	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		:) ((i++)) ;;
		-*) ((i++)) ;;
		*) ((count++)) ;;
		esac
	done
	echo $count
}

# The command at word 1 is one of gvmctl's that takes words.
_gvmctl_words() {
	case $2:$(_gvmsim_operands) in
	set:1) "$1" list 2>/dev/null | sed -n 's/^ *\([0-9][0-9]*\) .*/\1/p' | sort -u ;;
	set:2) "$1" set --help | sed -n '/^Files:/,/^$/s/^  \([a-z.]*\) .*/\1/p' ;;
	esac
}

_gvmsim() {
	local program=${COMP_WORDS[0]} now=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
	local command=${COMP_WORDS[1]} words=

	COMPREPLY=()
	if [ "$COMP_CWORD" = 1 ]; then
		words="$(_gvmsim_commands "$program") --help --version --manual"
	elif [ "$before" = --set ]; then
		words=$(_gvmsim_set "$program" "$now")
		compopt -o nospace 2>/dev/null
	elif [ "$before" = --system ] && [ "${program##*/}" = gvmsim ]; then
		words=$("$program" reference --words systems)
	elif [ "$before" = --words ]; then
		words=$("$program" reference --help | sed -n '/^Lists/,/^$/s/^  \([a-z-]*\) .*/\1/p')
	elif [[ $now == -* ]]; then
		words=${COMP_WORDS[2]}
		if [ "$command" = figure ] && [[ $words == [a-z]* ]] ||
			_gvmsim_commands "$program" "$command" | grep -qxF -e "$words"; then
			words=$(_gvmsim_options "$program" "$command" "$words")
		else
			words=$(_gvmsim_options "$program" "$command")
		fi
	elif [ "${program##*/}" = gvmctl ]; then
		words=$(_gvmctl_words "$program" "$command")
	else
		case $command:$COMP_CWORD in
		run:2 | advise:2) words=$("$program" reference --words scenarios) ;;
		sweep:2) words=$("$program" reference --words sweeps) ;;
		figure:2) words="$("$program" reference --words figures) all list" ;;
		reference:2) words="$("$program" reference --words documents) --words" ;;
		help:2) words="keys schema $(_gvmsim_commands "$program")" ;;
		help:3) words=$("$program" reference --words keys) ;;
		validate:[3-9]*) [ "${COMP_WORDS[2]}" != published ] || words=$("$program" reference --words figures) ;;
		*:2) words=$(_gvmsim_commands "$program" "$command") ;;
		esac
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$now")
	# A file is possible where no word fits: scenarios, folders, traces.
	if [ ${#COMPREPLY[@]} = 0 ] && [[ $now != -* ]] && [ "$before" != --set ]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$now")
		compopt -o filenames 2>/dev/null
	fi
}

complete -F _gvmsim gvmsim gvmcollect gvmd gvmctl gvmfence gvmfenced
