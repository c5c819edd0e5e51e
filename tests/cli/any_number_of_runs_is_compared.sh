#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# "gvmsim compare": all runs and all containers, as table, CSV file and picture. The numbers are those of
# summary.json. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

for system in exclusive stock gvm ghost mig; do
	"$gvmsim" run two-models-80g --system $system --set duration=40s --quiet --out "runs/$system" || fail $system
done
"$gvmsim" run vllm-diffusion-80g --system ghost --set duration=90s --quiet --out runs/other
COLUMNS=80 "$gvmsim" compare runs/exclusive runs/stock runs/gvm runs/ghost runs/mig runs/other --out out >.out 2>.err ||
	fail "$(cat .err)"
[ ! -s .err ] || fail "$(cat .err)"
[ "$(tail -n 1 .out)" = out/compare.png ] || fail "$(tail -n 1 .out)"
for file in compare.csv compare-metrics.csv compare.png compare.svg; do
	[ -s "out/$file" ] || fail "no $file"
done
[ "$(head -n 1 out/compare-metrics.csv)" = container,metric,exclusive,stock,gvm,ghost,mig,other ] ||
	fail "$(head -n 1 out/compare-metrics.csv)"
[ "$(cut -d, -f1 out/compare-metrics.csv | sort -u | tr '\n' ' ')" = "container diffusion llama qwen vllm " ] ||
	fail "containers: $(cut -d, -f1 out/compare-metrics.csv | sort -u)"

# Each number is that of its run; a run without the container has none.
row=$(grep '^llama,ttft_ms.p50,' out/compare-metrics.csv)
column=3
for system in exclusive stock gvm ghost mig; do
	wanted=$(jq '.containers.llama.ttft_ms.p50 | if type == "object" then ">\(.at_least)" else . end' "runs/$system/summary.json")
	[ "$(echo "$row" | cut -d, -f$column | cut -c1-8)" = "$(echo "$wanted" | tr -d '"' | cut -c1-8)" ] ||
		fail "$system: $wanted is not in $row"
	column=$((column + 1))
done
[ -z "$(echo "$row" | cut -d, -f8)" ] || fail "other has no llama: $row"
awk 'length > 80' .out | grep -v '/' | grep . && fail "lines above 80 columns"
grep -q "^llama (llm-server) .* exclusive" .out || fail "$(cat .out)"
for text in "llama: median TTFT" "qwen: P99 TTFT" "diffusion: median latency" "1 exclusive,  2 stock"; do
	grep -qF "$text" out/compare.svg || fail "the picture does not say '$text'"
done

# Slowdowns over the run in which each has a GPU to itself: quotients of the medians of summary.json.
"$gvmsim" compare runs/exclusive runs/stock runs/mig runs/other --alone runs/exclusive/ --out together >.out 2>.err || fail "$(cat .err)"
file=together/compare-together.csv
[ "$(head -n 1 $file)" = container,metric,exclusive,stock,mig,other ] || fail "$(cat $file)"
for name in llama qwen; do
	for run in exclusive stock; do
		jq ".containers.$name.e2e_s.p50" "runs/$run/summary.json"
	done | awk 'NR == 1 { alone = $1 } NR == 2 { printf "%.6f\n", $1 / alone }' >wanted
	[ "$(grep "^$name,slowdown," $file | cut -d, -f4 | awk '{ printf "%.6f\n", $1 }')" = "$(cat wanted)" ] ||
		fail "$name: $(cat wanted) is not in $(cat $file)"
done
awk -F, '$2 == "slowdown" { sum += $4; speed += 1 / $4; squares += 1 / $4 ^ 2; n++ }
	$2 == "antt" { antt = $4 } $2 == "stp" { stp = $4 } $2 == "jain" { jain = $4 }
	function differs(a, b) { return a < b * 0.999999 || a > b * 1.000001 }
	END { exit differs(antt, sum / n) || differs(stp, speed) || differs(jain, speed ^ 2 / (n * squares)) }' $file ||
	fail "indices: $(cat $file)"
[ "$(grep ',antt,' $file | cut -d, -f3)" = 1 ] || fail "alone: $(cat $file)"
# A run without the containers has no slowdown.
[ -z "$(grep ',antt,' $file | cut -d, -f6)" ] || fail "other: $(cat $file)"
grep -q '^weighted speed-up (STP) ' .out || fail "$(cat .out)"
# Where its files cannot be, it says only that.
: >blocked
"$gvmsim" compare runs/stock runs/mig --out blocked/out >.out 2>.err && fail "files were written below a file"
[ ! -s .out ] && [ "$(wc -l <.err)" -eq 1 ] || fail "blocked: $(cat .out .err)"
rm blocked
expect 2 "compare: --alone runs/ghost is not among the folders, allowed: one of them" compare runs/stock runs/mig --alone runs/ghost

expect 2 "compare: 1 folders, expected 2 to 63, usage: gvmsim compare DIR" compare runs/stock
expect 2 "compare: runs/stock is given twice, allowed: once" compare runs/stock runs/stock
for again in runs/stock/ runs/../runs/stock "$PWD/runs/stock"; do
	expect 2 "compare: $again is given twice, allowed: once" compare runs/stock "$again"
done
expect 2 "runs/none/summary.json: cannot be read: No such file" compare runs/stock runs/none
bad=runs/$(printf 'bad\377')
cp -r runs/stock "$bad"
expect 2 "is not UTF-8, allowed: a folder whose name is" compare runs/stock "$bad"

# Below the bars stands what tells runs apart: names that all begin alike lay over each other.
for system in stock ghost; do
	"$gvmsim" run eviction-order --system $system --quiet --out long/a-long-name-of-a-run-$system 2>.err || fail "$(cat .err)"
done
"$gvmsim" compare long/* --out named >.out 2>.err || fail "$(cat .err)"
for tick in stock ghost; do
	grep -qE "<text>$tick( \\*)?<" named/compare.svg || fail "no bar is called $tick"
done
