#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Tables of DEVIATIONS.md are those that the program writes: of the figures named, or of all. A document with
# a mistake stays as it is. Usage: NAME.sh GVMSIM SOURCE [FIGURE...] [--seeds N]
. "$(dirname "$0")/common.inc"
shift 2

# A small document first: tables of other figures and spreads stay, text around tables stays.
cat >document.md <<'END'
before
<!-- gvmsim validate published: prefill -->
stale
<!-- end -->
<!-- gvmsim validate published: isolation -->
| kept |
<!-- end -->
<!-- gvmsim validate published: prefill spread -->
| kept, too |
<!-- end -->
<!-- gvmsim validate published: prefill order -->
| kept as well |
<!-- end -->
<!-- gvmsim validate published: score -->
| of all figures |
<!-- end -->
after
END
"$gvmsim" validate published prefill --deviations document.md >/dev/null 2>.err || fail "$(cat .err)"
! grep -q stale document.md || fail "the table is not rewritten"
grep -q '^| TTFT for each token | [0-9.]* |$' document.md || fail "no table: $(cat document.md)"
for line in before after '| kept |' '| kept, too |' '| kept as well |' '| of all figures |'; do
	grep -qxF "$line" document.md || fail "'$line' has gone: $(cat document.md)"
done
[ "$(grep -c '^<!-- end -->$' document.md)" -eq 5 ] || fail "marks have gone: $(cat document.md)"

# Pairs that are not always in the published order, of short runs. The JSON file has the same.
printf '<!-- gvmsim validate published: isolation order -->\n<!-- end -->\n' >order.md
"$gvmsim" validate published isolation --set duration=120s --seeds 2 --json order.json --deviations order.md \
	>text 2>.err || fail "$(cat .err)"
jq -r '.figures[0].rows as $rows | range($rows | length) as $i | range($rows | length) as $k |
	$rows[$i] as $more | $rows[$k] as $less |
	select($more.panel == $less.panel and $more.published >= 1.2 * $less.published) |
	[range(2) as $seed | select($more.spread.seeds[$seed] != null and $less.spread.seeds[$seed] != null and
		$more.spread.seeds[$seed] > $less.spread.seeds[$seed])] as $kept |
	($more.predicted != null and $less.predicted != null and $more.predicted > $less.predicted) as $plain |
	select(($plain | not) or ($kept | length) < 2) |
	"\($more.run) > \($less.run) \(if $plain then "yes" else "no" end) \($kept | length)"' order.json |
	sort >want
sed -n 's/^| [^|]* | \([a-z]* > [a-z]*\) | [^|]* | \(yes\|no\) | \([0-9]*\) |$/\1 \2 \3/p' order.md | sort >have
[ -s want ] || fail "all pairs are in order in 120 s"
diff want have || fail "the pairs of order.json are not those of order.md"

printf '<!-- gvmsim validate published: prefill -->\nno end\n' >open.md
cp open.md was.md
"$gvmsim" validate published prefill --deviations open.md >/dev/null 2>.err && fail "a table without an end"
grep -q 'open.md:1: this table has no end, allowed: <!-- end -->' .err || fail "$(cat .err)"
cmp open.md was.md || fail "a document with a mistake is changed"
[ ! -e open.md.tmp ] || fail "a temporary file is left"
"$gvmsim" validate published prefill --deviations none.md >/dev/null 2>.err && fail "no document"
grep -q 'none.md: cannot be read: No such file' .err || fail "$(cat .err)"

cp "$source/DEVIATIONS.md" now.md
"$gvmsim" validate published "$@" --deviations now.md >/dev/null 2>.err || fail "$(cat .err)"
diff -u "$source/DEVIATIONS.md" now.md ||
	fail "write it anew: gvmsim validate published --seeds 10 --deviations DEVIATIONS.md"
for figure in $(jq -r 'select(.reference) | input_filename | split("/")[-1] | rtrimstr(".json")' \
	"$source"/plots/figures/*.json); do
	[ "$figure" = interference ] || grep -q "validate published: $figure -->" now.md ||
		fail "no table of the figure $figure"
done

# The causes of rows beyond 25 % are written by hand: they are of as many rows as the score says.
awk '
	/^\| all \| / { split($0, cell, " *[|] *"); values = cell[3]; within = cell[5] + 0 }
	/^The [0-9]+ rows beyond 25 %/ { told = $2; on = 1 }
	/^## / { on = 0 }
	on && /^\| [0-9]+ \| / { listed += $2 }
	END {
		beyond = values * (100 - within) / 100
		if (!values || !told || listed != told || told < beyond - values / 200 || told > beyond + values / 200) {
			print "DEVIATIONS.md: " told " rows beyond 25 %, the causes have " listed ", the score " beyond
			exit 1
		}
	}' "$source/DEVIATIONS.md" || fail "count the rows beyond 25 %: gvmsim validate published --json FILE"
