#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The manual pages have every command and option of --help, and no others. A help that cannot be written
# is an error. Completion in bash offers commands, options, systems, scenarios, figures, and keys after
# --set. Usage: NAME.sh GVMSIM SOURCE
# shellcheck source=tests/cli/common.inc
. "$(dirname "$0")/common.inc"
bin=$(dirname "$gvmsim")

# The help of every command.
help_of() {
	program=$1
	"$bin/$program" --help
	for command in $("$bin/$program" --help | sed -n "s/^  $program \([a-z][a-z]*\) .*/\1/p" | sort -u); do
		echo "@command $command"
		"$bin/$program" "$command" --help
	done
}

for program in gvmsim gvmcollect gvmd gvmctl gvmfence gvmfenced; do
	page=$source/docs/man/$program.1
	mandoc -Tlint -Wwarning "$page" || fail "$page: mandoc complains"
	help_of $program >.help
	if [ $program = gvmsim ]; then
		"$gvmsim" figure ablation --help >>.help
		"$gvmsim" validate results --help >>.help
	fi
	grep -oE -- '(^|[ [])--[a-z-]+' .help | tr -d ' [' | grep -vxE -- '--save-result|--save-detailed' | sort -u >.options
	grep -E '^\.(Op|It|Fl) ' "$page" | grep -oE 'Fl -[a-z-]+' | sed 's/Fl -/--/' | sort -u >.manual
	diff .options .manual || fail "$page: options (>) are not those of --help (<)"
	sed -n 's/^@command //p' .help | sort -u | while read -r command; do
		grep -q "^\.Cm $command" "$page" || fail "$page: no command $command"
		[ ! -w /dev/full ] || ! "$bin/$program" "$command" --help >/dev/full 2>.err ||
			fail "$program $command --help: a full disk is no error"
	done
done

# completed WORD...: the words that completion offers for the last one
completed() {
	bash -c '
		. "$1/completion/gvmsim.bash"
		shift
		COMP_WORDS=("$@")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_gvmsim
		printf "%s\n" "${COMPREPLY[@]}"' bash "$source" "$@"
}

# offers EXPECTED WORD...: EXPECTED is one of the words that completion offers
offers() {
	expected=$1
	shift
	completed "$@" | grep -qxF -e "$expected" || fail "completion of '$*' lacks '$expected': $(completed "$@" | tr '\n' ' ')"
}

offers run "$gvmsim" r
offers reference "$gvmsim" ""
offers vllm-diffusion-40g "$gvmsim" run vllm
offers vllm-diffusion-40g "$gvmsim" advise vllm
offers diffusion-limit "$gvmsim" sweep dif
offers --system "$gvmsim" run x --s
offers ghost "$gvmsim" run x --system g
offers gpu.link.bandwidth= "$gvmsim" run x --set gpu.link
offers containers.vllm.gmem.limit.high= "$gvmsim" run x --set containers.vllm.gmem
offers gpus.second.profile= "$gvmsim" run x --set gpus.second.pro
offers ablation "$gvmsim" figure ab
offers --fresh "$gvmsim" figure ablation --f
offers --gpu "$gvmsim" validate hardware --g
offers control-files "$gvmsim" reference con
offers schema "$gvmsim" help s
offers sweep "$gvmsim" help s
offers ablation "$gvmsim" validate published ab
offers isolation "$gvmsim" validate published ablation iso
completed "$gvmsim" trace import --s | grep -x -e --save-result && fail "an option of another program"
offers gpu.link.setup "$gvmsim" help keys gpu.link
offers keys "$gvmsim" reference --words k
offers import "$gvmsim" trace i
offers --skip-bad "$gvmsim" trace import --s
offers --container "$bin/gvmcollect" sample --c
offers --slo "$bin/gvmcollect" logs hw --s
offers logs "$bin/gvmcollect" l
offers --report "$bin/gvmd" run x --r
offers --root "$bin/gvmctl" set 42 --r
offers gmem.limit.high "$bin/gvmctl" set 42 ""
offers compute.freeze "$bin/gvmctl" set /tenant-a com
offers compute.weight "$bin/gvmctl" set 42 : 0 compute.w
offers hmem.limit "$bin/gvmctl" set --root dir 42 h
completed "$bin/gvmctl" set 42 "" | grep -x gmem.current && fail "a file that cannot be written"
completed "$bin/gvmctl" set 42 gmem.limit.high "" | grep -x gmem.limit.high && fail "a file as a value"
mkdir -p gvm/$$/0 && echo max >gvm/$$/0/gmem.limit.high
export GVM_SHIM_DIR="$work/gvm"
offers $$ "$bin/gvmctl" set ""
unset GVM_SHIM_DIR
for name in $("$gvmsim" reference --words systems); do
	offers "$name" "$gvmsim" run x --system "$name"
done
