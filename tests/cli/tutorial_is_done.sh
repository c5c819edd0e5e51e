#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# docs/tutorial.md is done, in an empty folder. A block "```json PATH" is the content of a file. "```sh" is run; it
# fails if one of its commands does. A block "```text" is what the last command before it prints, as far as it
# goes: lines are equal but for blanks, and stand in this order. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

GVMSIM=$source
PATH=$(dirname "$gvmsim"):$PATH
export GVMSIM PATH
mkdir .blocks
awk '
	/^```/ && !open {
		open = 1
		kind = substr($1, 4)
		file = sprintf(".blocks/%02d.%s", ++count, kind)
		printf "" >file
		print $2 >(".blocks/" sprintf("%02d", count) ".path")
		next
	}
	/^```/ { open = 0; next }
	open { print >file }' "$source/docs/tutorial.md"

# shape FILE: its lines, each run of blanks one blank, none empty. Numbers are exact: a seed gives the same ones
# everywhere.
shape() {
	sed -E 's/[[:space:]]+/ /g; s/^ //; s/ $//; /^$/d' "$1"
}

runs=0
texts=0
for block in .blocks/*.json .blocks/*.sh .blocks/*.text; do
	echo "${block#.blocks/}"
done | sort >.order
while read -r name; do
	block=.blocks/$name
	case $name in
	*.json)
		path=$(cat "${block%.json}.path")
		mkdir -p "$(dirname "$path")"
		cp "$block" "$path"
		;;
	*.sh)
		sh -eu "$block" >.printed 2>.complaints </dev/null || fail "$(cat "$block"): $(cat .complaints .printed)"
		! grep -v '^gvmsim: made' .complaints >.told || fail "$(cat "$block"): says $(cat .told)"
		runs=$((runs + 1))
		;;
	*.text)
		shape "$block" >.want
		shape .printed >.have
		awk 'NR == FNR { want[NR] = $0; count = NR; next }
			$0 == want[at + 1] { at++ }
			END { if (at < count) { print want[at + 1]; exit 1 } }' .want .have >.lacks ||
			fail "$name: not printed: $(cat .lacks); printed is: $(cat .printed)"
		texts=$((texts + 1))
		;;
	esac
done <.order
[ "$runs" -ge 7 ] && [ "$texts" -ge 6 ] || fail "only $runs commands and $texts outputs"

# What the text says of the table.
[ -s figures/six.png ] || fail "no picture"
awk -F, '{ value[$1, $2] = $6; bound[$1, $2] = $12 }
	END {
		ok = value["chat", "stock"] > 2000 && value["chat", "mps"] > 2000
		for (i = split("gpreempt gvm ghost give-way", shared, " "); i; i--)
			ok = ok && value["chat", shared[i]] < 1500
		ok = ok && value["trainer", "stock"] < 1.1 * value["trainer", "exclusive"]
		ok = ok && value["trainer", "mps"] < 1.1 * value["trainer", "exclusive"]
		ok = ok && value["trainer", "gpreempt"] == "" && bound["trainer", "gpreempt"] > 5 * value["trainer", "exclusive"]
		ok = ok && value["code", "gpreempt"] == "" && value["code", "gvm"] > 0
		ok = ok && value["slo", "gvm"] > 95 && value["slo", "ghost"] > 95
		ok = ok && value["trainer", "give-way"] >= value["trainer", "gvm"]
		exit !ok
	}' figures/six.csv || fail "the text says something else: $(cat figures/six.csv)"
