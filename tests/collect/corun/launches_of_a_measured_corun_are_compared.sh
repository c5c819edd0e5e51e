#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# A co-run of two real applications on an H200, whose launches the shim has counted, is simulated from its own
# scenario. "gvmsim validate results" compares the launches of both, too, and DEVIATIONS.md has what it says.
# Usage: NAME.sh GVMSIM SOURCE
set -eu
gvmsim=$1
measured=$2/plots/reference/hardware/h200-corun/shim-launches
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "FAIL: $*" >&2
	exit 1
}

"$gvmsim" run "$measured/scenario.json" --out "$work/predicted" --quiet
"$gvmsim" validate results "$measured" "$work/predicted" >"$work/table"
for container in llm diffusion; do
	# A row has: container, "kernel launches", measured, "/s", predicted, "/s", error, "%".
	error=$(sed -n "s|^$container kernel launches .*/s *\([0-9.]*\) %\$|\1|p" "$work/table")
	[ -n "$error" ] || fail "$container: no launches in $(cat "$work/table")"
	[ "${error%.*}" -lt 50 ] || fail "$container: launches differ by $error %"
done

# All of it is in the document, good or bad. A cell is behind two blanks or more.
awk -F '  +' '/^$/ { on = !on; next } on && NR > 4 { printf "| %s | %s | %s | %s |\n", $1, $2, $3, $4 }' "$work/table" >"$work/rows"
[ "$(wc -l <"$work/rows")" -gt 20 ] || fail "too few rows: $(cat "$work/table")"
sed -n '/^<!-- gvmsim validate results: shim-launches -->$/,/^<!-- end -->$/p' "$2/DEVIATIONS.md" | sed -n '4,$ { /^|/p }' >"$work/document"
diff "$work/document" "$work/rows" >&2 || fail "DEVIATIONS.md has other rows"
