#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# A server whose limit is cut and that listens for pressure drops free KV blocks: hardly anything is
# copied out, and its users wait less. Without pressure events nothing of that happens.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

run() {
	out=$1
	shift
	"$gvmsim" run limit-cut --quiet --out "$out" "$@" >.out 2>.err || fail "$out: $(cat .err)"
}

# of FOLDER PATH: a statistic of vllm
of() {
	jq ".containers.vllm.$2" "$1/summary.json"
}

less() {
	jq -en "$1 < $2" >/dev/null || fail "$3: $1 is not less than $2"
}

run listens
run deaf --set containers.vllm.app.pressure=false
less "$(of listens bytes_d2h) * 2" "$(of deaf bytes_d2h)" "copied out"
# The part of its workspace that only large steps touch is cold, and goes.
less "$(of listens gmem.swap)" 100e6 "swapped at the end"
less 10e9 "$(of deaf gmem.swap)" "swapped at the end, without"
less "$(of listens ttft_ms.p99)" "$(of deaf ttft_ms.p99)" "P99 TTFT"
less "$(of listens gmem.current)" 16000000001 "the limit"
[ "$(of listens requests.completed)" -ge "$(of deaf requests.completed)" ] || fail "lost requests"

# A system without pressure events names the key as ignored, and the key changes nothing.
run stock --system stock --set duration=80s --set 'events=[]'
run stock-deaf --system stock --set duration=80s --set 'events=[]' --set containers.vllm.app.pressure=false
jq -e '.ignored_keys | index("containers.vllm.app.pressure")' stock/summary.json >/dev/null ||
	fail "stock does not say that it ignores app.pressure"
cmp stock/timeline.csv stock-deaf/timeline.csv || fail "stock: it changes something"
