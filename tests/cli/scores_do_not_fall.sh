#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# No score against published values is more than 5 % worse than DEVIATIONS.md has it, of any figure or of all: not the
# median error, nor the share of values within 25 %, or within 2 times. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

"$gvmsim" validate published --json score.json >/dev/null 2>.err || fail "$(cat .err)"
jq -r '(.figures[] | [.figure, .score]), ["all", .score] | select(.[1].rows > 0) |
	[.[0], .[1].rows, .[1].median_error, 100 * .[1].within_25_percent, 100 * .[1].within_2_times] | @tsv' \
	score.json | sort >have
# | figure | values | median error | within 25 % | within 2 times |
sed -n '/validate published: score -->/,/<!-- end -->/p' "$source/DEVIATIONS.md" | tr -d '|*%' |
	awk 'NF == 5 && $2 ~ /^[0-9]+$/ { print $1 "\t" $2 "\t" $3 "\t" $4 "\t" $5 }' | sort >want
[ "$(wc -l <want)" -gt 5 ] || fail "DEVIATIONS.md has no table of scores"
grep -q '^all' want || fail "DEVIATIONS.md has no score of all figures"
# The document rounds: half of its last digit is no fall.
join -t "$(printf '\t')" want have | awk -F '\t' '
	{ seen++ }
	$2 != $6 { print $1 ": " $6 " values, DEVIATIONS.md has " $2 }
	$7 > ($3 + 0.005) * 1.05 { print $1 ": a median error of " $7 ", DEVIATIONS.md has " $3 }
	$8 < ($4 - 0.5) * 0.95 { print $1 ": " $8 " % within 25 %, DEVIATIONS.md has " $4 }
	$9 < ($5 - 0.5) * 0.95 { print $1 ": " $9 " % within 2 times, DEVIATIONS.md has " $5 }
	END { print seen >"seen" }' >fallen
[ "$(cat seen)" -eq "$(wc -l <want)" ] || fail "figures of DEVIATIONS.md have no score any more"
[ ! -s fallen ] || fail "$(cat fallen)"
