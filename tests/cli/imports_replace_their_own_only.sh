#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# What an import makes replaces what one has made before, and a note says so if that was another one. Any other
# file is refused and stays. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

printf 'Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,Conversation log\n' >in.csv
sed 's/472/473/' in.csv >other.csv

# replaces KIND OUT FIRST -- SECOND: FIRST and SECOND are what comes before OUT, and make two different files
replaces() {
	kind=$1 out=$2 first=$3 second=$4
	# shellcheck disable=SC2086 # lists of words
	{
		rm -f "$out"
		"$gvmsim" $first "$out" $5 >.out 2>.err && [ ! -s .err ] || fail "$first: $(cat .err)"
		"$gvmsim" $first "$out" $5 >.out 2>.err && [ ! -s .err ] || fail "$first again: $(cat .err)"
		"$gvmsim" $second "$out" $5 >.out 2>.err || fail "$second: $(cat .err)"
		[ "$(cat .err)" = "gvmsim: note: $out: replaces $kind that differed" ] || fail "$second: $(cat .err)"
		# An empty file, as of mktemp, has nothing to lose.
		: >"$out"
		"$gvmsim" $first "$out" $5 >.out 2>.err && [ ! -s .err ] || fail "$first, empty: $(cat .err)"
		for mine in "my notes" '{ "hidden_size": 4096 }' '[1]'; do
			echo "$mine" >"$out"
			expect 2 "^gvmsim: $out: is no ${kind#* } of gvmsim and would be replaced, allowed: another file$" $first "$out" $5
			[ "$(cat "$out")" = "$mine" ] || fail "$first: $mine is gone"
		done
	}
}

replaces "a trace" out.trace "trace import in.csv" "trace import other.csv" "--attribution none"
zstd -q in.csv -o packed && cp packed kept
expect 2 "packed: is no trace of gvmsim and would be replaced" trace import in.csv packed --attribution none
cmp packed kept || fail "a compressed file of the user is gone"

replaces "an application" app.json "app lora Qwen2.5-7B" "app lora --rank 4 Qwen2.5-7B" ""
