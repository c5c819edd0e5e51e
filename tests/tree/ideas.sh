#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# docs/ideas.md has the tables that tools/ideas.py makes today: the one that is named, or all. A table that is not
# what the runs say is shown, and a name without a table is one line. Usage: ideas.sh GVMSIM SOURCE [TABLE]
set -eu
gvmsim=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "FAIL: $*" >&2
	exit 1
}

ideas() {
	python3 "$source/tools/ideas.py" "$gvmsim" "$@" --runs "$work/runs" >"$work/out" 2>"$work/err"
}

ideas "$source/docs/ideas.md" --check ${3:+--only "$3"} || fail "run tools/ideas.py, see docs/ideas.md: $(cat "$work/out" "$work/err")"

sed 's/^| `lirs` | 47 |/| `lirs` | 48 |/' "$source/docs/ideas.md" >"$work/wrong.md"
ideas "$work/wrong.md" --check --only shared && fail "a wrong number passes"
grep -q '^-| `lirs` | 48 |' "$work/out" || fail "the wrong number is not shown: $(cat "$work/out")"

sed 's/ideas.py: seeds/ideas.py: ends/' "$source/docs/ideas.md" >"$work/wrong.md"
ideas "$work/wrong.md" --check && fail "a table of no name passes"
grep -q 'wrong.md: no table is called ends$' "$work/err" || fail "$(cat "$work/err")"
