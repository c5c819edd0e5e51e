#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# A FIFO in place of a file that a program writes stays a FIFO. As root, the same holds for /dev/null.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

mkfifo pipe
printf 'Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n' >in.csv

# refuses WORD...: $program says why, and the FIFO is there.
refuses() {
	expect 2 ': pipe: cannot write: is not a regular file$' "$@"
	[ -p pipe ] || fail "$program $*: the FIFO is gone"
}

refuses trace import in.csv pipe --attribution none
# Said before the runs, not after minutes of them.
refuses validate published isolation --json pipe
[ ! -e results/cache ] || fail "validate made runs before it refused its file"
program=$(dirname "$gvmsim")/gvmfence
refuses patch "$source/tests/guardian/corpus/corners.ptx" --out pipe
