#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# GVM's Figure 14: the bars of each panel are in the published order where they differ by more than
# 20 %, and each value is within a factor of 2. The exceptions are those of DEVIATIONS.md.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# Bars that are known to be further off, and how far they may be.
cat >exceptions <<'END'
ttft_ms.p50,UVM,0.1,2
ttft_ms.p50,+MemIso,0.5,3
itl_ms.p50,UVM,0.5,2.5
itl_ms.p99,+MemIso,0.4,2
END

"$gvmsim" figure ablation --out figures >.out 2>.err || fail "$(cat .err)"
awk -F, '
	FILENAME == "exceptions" { least[$1, $2] = $3; most[$1, $2] = $4; next }
	FNR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	$column["published"] == "" { next }
	{
		panel = $column["panel"]; bar = $column["bar"]
		ours = $column["ours"]; published = $column["published"]; ratio = ours / published
		low = (panel, bar) in least ? least[panel, bar] : 0.5
		high = (panel, bar) in most ? most[panel, bar] : 2
		if (ours == "" || ratio < low || ratio > high)
			print panel " of " bar ": ours " ours ", published " published
		for (i = 1; i <= count[panel]; i++) {
			p = values[panel, i, "published"]; o = values[panel, i, "ours"]
			if (p > 1.2 * published && o <= ours || published > 1.2 * p && ours <= o)
				print panel ": " bar " and " values[panel, i, "bar"] " have changed places"
		}
		count[panel]++
		values[panel, count[panel], "bar"] = bar
		values[panel, count[panel], "ours"] = ours
		values[panel, count[panel], "published"] = published
		compared++
	}
	END { if (compared != 20) print compared " bars compared, and not 20" }
' exceptions figures/ablation.csv >wrong
[ ! -s wrong ] || fail "$(cat wrong)"
