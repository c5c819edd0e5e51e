#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# The hooked driver without gvm.ko (part stock) does what the stock driver does (part reference), by the
# transcripts of both boots: each batch of faults, the pages of each copy, the victims and their order, the
# invalidates and the totals of all eleven patterns. softgpu_reference.txt has only the totals of those that need
# more memory than there is. Ends with 77, ctest's SKIP code, if a boot did not run.
#
#   hooked_stock.sh STOCK_LOG HOOKED_LOG OUT
set -eu

stock=$1
hooked=$2
out=$3
patterns=11

for log in "$stock" "$hooked"; do
	if [ ! -f "$log" ]; then
		echo "skipped: there is no $log" >&2
		exit 77
	fi
done
mkdir -p "$out"
sed -n '/^tap: # part stock$/,/^tap: # part stockpaging$/s/^tap: judge: //p' "$hooked" >"$out/hooked"
# The patterns of the part reference are the first of those names. The parts on a Hopper come later.
sed -n 's/^tap: judge: //p' "$stock" |
	awk 'NR == FNR { if (/^pattern /) wanted[$0] = 1; next }
		/^pattern / { taken = wanted[$0] && !seen[$0]++ } taken' "$out/hooked" - >"$out/stock"
if ! cmp -s "$out/stock" "$out/hooked"; then
	diff -u "$out/stock" "$out/hooked" | head -n 40 >&2 || true
	echo "the hooked driver (+) does not do what the stock driver (-) does" >&2
	exit 1
fi
count=$(grep -c '^total ' "$out/stock" || true)
if [ "$count" != "$patterns" ] || ! grep -q '^out ' "$out/stock"; then
	echo "$stock and $hooked have transcripts of $count patterns, not of $patterns with evictions" >&2
	exit 1
fi
echo "$count patterns, $(grep -vc '^pattern ' "$out/stock") steps are the stock driver's"
