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

export PYTHONDONTWRITEBYTECODE=1
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

# A disk that is full while the document, which is longer than files of the runs, is written leaves the old one.
sed 's/^| `lirs` | 47 |/| `lirs` | 48 |/' "$source/docs/ideas.md" >"$work/wrong.md"
head -c 1000000 /dev/zero | tr '\0' x >"$work/long"
cat "$source/docs/ideas.md" "$work/long" >"$work/right.md"
cat "$work/long" >>"$work/wrong.md"
cp "$work/wrong.md" "$work/full.md"
(ulimit -f 1000 && ideas "$work/full.md" --only shared) && fail "a full disk is no error"
cmp "$work/wrong.md" "$work/full.md" || fail "a full disk took the document"
[ "$(tail -n 1 "$work/err")" = "ideas.py: $work/full.md: File too large" ] || fail "$(cat "$work/err")"
[ "$(ls "$work"/full*)" = "$work/full.md" ] || fail "left: $(ls "$work")"
ideas "$work/full.md" --only shared || fail "$(cat "$work/err")"
cmp "$work/right.md" "$work/full.md" || fail "the table is not mended"
