#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The prose of every document has 96 columns (tools/wrap.py), but for docs/reference, which the program prints.
# Usage: wrapped.sh SOURCE
set -eu
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "FAIL: $*" >&2
	exit 1
}

# A paragraph and an item that are too wide are named and wrapped; a table, code and a code span stay.
wide=$(printf 'word %.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22)
cat >"$work/wide.md" <<END
# Heading $wide

$wide \`gvmsim run a\`

- $wide - $wide
  more

| $wide |

    code $wide
END
tools/wrap.py --check "$work/wide.md" >"$work/out" && fail "a wide paragraph passes"
[ "$(cut -d: -f2 "$work/out" | tr '\n' ' ')" = "3 5 " ] || fail "other lines: $(cat "$work/out")"
cp "$work/wide.md" "$work/now.md"
tools/wrap.py "$work/now.md"
tools/wrap.py --check "$work/now.md" || fail "what is wrapped is wide"
[ "$(tr -s ' \n' '\n\n' <"$work/wide.md")" = "$(tr -s ' \n' '\n\n' <"$work/now.md")" ] || fail "words have changed"
grep -qx "| $wide |" "$work/now.md" || fail "a table is broken"
grep -qx "    code $wide" "$work/now.md" || fail "code is broken"
grep -q '`gvmsim run a`' "$work/now.md" || fail "a code span is broken"
[ "$(grep -c '^ *- ' "$work/now.md")" -eq 1 ] || fail "a dash begins a line"

# What cannot be read or written.
printf '\377' >"$work/bytes.md"
for file in none.md bytes.md; do
	! tools/wrap.py "$work/$file" 2>"$work/err" || fail "$file is no document"
	grep -q "^wrap.py: $work/$file: " "$work/err" && [ "$(wc -l <"$work/err")" = 1 ] || fail "$(cat "$work/err")"
done
# A disk that is full while the document is written leaves the old one.
cp "$work/wide.md" "$work/full.md"
(ulimit -f 0 && tools/wrap.py "$work/full.md" 2>&1 || echo "status $?") | cat >"$work/err"
cmp "$work/wide.md" "$work/full.md" || fail "a full disk took the document"
[ "$(ls "$work"/full*)" = "$work/full.md" ] || fail "left: $(ls "$work")"
[ "$(cat "$work/err")" = "wrap.py: $work/full.md: File too large
status 1" ] || fail "$(cat "$work/err")"

git ls-files '*.md' >"$work/all" 2>/dev/null || find . -name '*.md' >"$work/all"
grep -vE '^(\./)?(docs/reference|build|results)/' "$work/all" >"$work/files"
[ "$(wc -l <"$work/files")" -ge 40 ] || fail "too few documents"
xargs tools/wrap.py --check <"$work/files"
