#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# gpt-oss-20b, half of whose layers look back at 128 tokens: a pool that is too small for the users without windows
# holds all of them with these. The memory is the same. Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# run FOLDER OPTIONS...
run() {
	out=$1
	shift
	"$gvmsim" run closed-loop-8b --quiet --out "$out" --set containers.vllm.app.model=gpt-oss-20b \
		--set containers.vllm.app.gpu_memory_utilization=0.42 --set containers.vllm.app.client.users=64 \
		--set duration=30s "$@" 2>.err || fail "$*: $(cat .err)"
}
run windows
run none --set containers.vllm.app.window=0 --set containers.vllm.app.window_layers=0
jq -e --slurpfile none none/summary.json '.containers.vllm as $own | $none[0].containers.vllm as $other |
	$own.preemptions == 0 and $other.preemptions > 10 and
	$own.requests.completed > 1.1 * $other.requests.completed and
	$own.itl_ms.p50 < $other.itl_ms.p50' windows/summary.json >.out ||
	fail "$(jq -c '.containers.vllm | [.preemptions, .requests, .itl_ms.p50]' windows/summary.json none/summary.json)"
# Both pools fill the same share of the card, but for a group of blocks, 24 or 48 MiB.
jq -e --slurpfile none none/summary.json '.containers.vllm.gmem.peak - $none[0].containers.vllm.gmem.peak |
	. < 50331648 and . > -50331648' windows/summary.json >.out || fail "pools differ"

expect 2 'window_layers: 25 is wrong, allowed: from 1 to layers, 24, with a window, and 0 without one$' \
	run closed-loop-8b --set containers.vllm.app.model=gpt-oss-20b --set containers.vllm.app.window_layers=25
