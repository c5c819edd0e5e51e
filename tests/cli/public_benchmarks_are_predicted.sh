#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Servers beside numbers that others have published (DEVIATIONS.md, "Against public benchmarks"): vLLM within a
# quarter, TensorRT-LLM within a third and half of its rows within 15 %. The simulator was not fitted to them. Usage: public_benchmarks_are_predicted.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# predict NAME KEY=VALUE...: the results of scenario closed-loop-8b, in folder NAME
predict() {
	name=$1
	shift
	for set in "$@"; do
		shift
		set -- "$@" --set "$set"
	done
	"$gvmsim" run closed-loop-8b --quiet --out "$name" "$@" || fail "$name"
}

# near NAME OURS PUBLISHED
near() {
	echo "$1: ours $2, published $3"
	awk -v ours="$2" -v published="$3" 'BEGIN { exit !(ours > published / 1.25 && ours < published * 1.25) }' ||
		fail "$1 is not within a quarter"
}

# number NAME FILTER: of a summary
number() {
	jq ".containers.vllm | $2" "$1/summary.json"
}

predict one
near "A100-40G, 1024 in, 128 out, one user: tokens/s of decode" "$(number one '1000 / .itl_ms.p50')" 75
predict eight containers.vllm.app.client.users=8
near "the same: tokens of eight users over those of one" \
	"$(jq -n "$(number eight .tokens_per_s) / $(number one .tokens_per_s)")" 6.6
predict h200 gpu.profile=h200-141g containers.vllm.app.client.users=8 \
	containers.vllm.app.trace.file=fixed_32_128.trace
near "H200, a batch of 8, 32 in, 128 out: ms" "$(number h200 '.ttft_ms.p50 + 127 * .itl_ms.p50')" 833

# The sweep has the points in the order of the published rows.
"$gvmsim" sweep "$source/scenarios/sweeps/tensorrt-llm.json" --out trt >trt.out 2>&1 || fail "$(cat trt.out)"
grep -v '^#' "$source/plots/reference/tensorrt-llm.csv" >published.csv
[ "$(wc -l <published.csv)" -eq "$(wc -l <trt/sweep.csv)" ] || fail "the sweep has not the points of the rows"
paste -d , published.csv trt/sweep.csv | awk -F , '
	NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
	{
		trace = "fixed_" $3 "_" $4 ".trace"
		if ($1 != $column["containers.vllm.app.model"] || $2 != $column["gpu.profile"] ||
		    trace != $column["containers.vllm.app.trace.file"]) {
			print "FAIL: point " NR - 1 " is not " $1, $2, $3, $4
			exit 1
		}
		ratio = $column["vllm.tokens_per_s"] / $5
		printf "TensorRT-LLM, %s, %s, %d/%d: %.2f\n", $1, $2, $3, $4, ratio
		if (ratio > 4 / 3 || ratio < 3 / 4)
			bad = 1
		near += ratio < 1.15 && ratio > 1 / 1.15
	}
	END { exit bad || near < (NR - 1) / 2 }' || fail "TensorRT-LLM is not predicted"
