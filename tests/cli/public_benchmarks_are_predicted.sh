#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# One server beside numbers that others have published (DEVIATIONS.md, "Against public benchmarks"): within a
# quarter. The simulator was not fitted to them. Usage: public_benchmarks_are_predicted.sh GVMSIM SOURCE
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
