#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The pages of docs/what-if: each figure there has a page with its picture, and the table in the page is what
# "gvmsim figure" computes now. With --update tables and pictures are written anew.
# Usage: what_if.sh GVMSIM SOURCE [--update]
set -eu
gvmsim=$1
pages=$2/docs/what-if
update=${3:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
status=0

# The numbers of one figure as a table in Markdown, four digits each.
table() {
	awk -F, '
		NR == 1 { next }
		{
			row = $2 ($3 == "" ? "" : ", " $3)
			column = $1 ($5 == "" ? "" : " (" $5 ")")
			if (!(row in rows)) { rows[row] = ++n; names[n] = row }
			if (!(column in columns)) { columns[column] = ++m; heads[m] = column }
			value[row, column] = $6 != "" ? sprintf("%.4g", $6) : $12 != "" ? sprintf("> %.4g", $12) : "-"
		}
		END {
			line = "| run |"
			rule = "|---|"
			for (c = 1; c <= m; c++) { line = line " " heads[c] " |"; rule = rule "---|" }
			print line
			print rule
			for (r = 1; r <= n; r++) {
				line = "| " names[r] " |"
				for (c = 1; c <= m; c++) line = line " " value[names[r], heads[c]] " |"
				print line
			}
		}' "$1"
}

count=0
for figure in "$pages"/*.json; do
	name=$(basename "$figure" .json)
	page=$pages/$name.md
	count=$((count + 1))
	"$gvmsim" figure "$figure" --out out >.out 2>.err || { cat .err; exit 1; }
	table "out/$name.csv" >.table
	if [ "$update" = --update ]; then
		cp "out/$name.png" "$pages/$name.png"
		awk -v table=.table '/^\| run \|/ { while ((getline line < table) > 0) print line; skip = 1 }
			skip && /^\|/ { next } { skip = 0; print }' "$page" >.page
		cp .page "$page"
		continue
	fi
	sed -n '/^| run |/,/^$/p' "$page" | sed '/^$/d' >.said
	diff -u .said .table || { echo "$page: the table is not what the figure computes"; status=1; }
	{ grep -qF "($name.png)" "$page" && [ -s "$pages/$name.png" ]; } || { echo "$page: no picture"; status=1; }
	grep -qF "($name.md)" "$pages/README.md" || { echo "$pages/README.md: no line for $name"; status=1; }
done
[ "$count" -ge 10 ] || { echo "too few pages"; exit 1; }
exit $status
