#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Requests of a run, and those that vLLM's benchmark client sent, become a trace, and its replay asks for
# the same again. The client's result is written by hand; nothing in it was measured.
. "$(dirname "$0")/common.inc"

# Two servers: their requests are no single trace. One of them is, compressed or not.
go() {
	"$gvmsim" run two-models-80g --set duration=40s --set seed=3 --quiet "$@" 2>.err || fail "run $*: $(cat .err)"
}
go --out both
go --out packed --set output.compress=zstd
expect 2 "both/requests.csv:[0-9]*: column 'container': 'qwen' has requests beside 'llama', choose one with" \
	trace import both/requests.csv no.trace
expect 2 "both/requests.csv:[0-9]*: no requests of container 'vllm', there are some of 'llama'" \
	trace import both/requests.csv no.trace --container vllm
[ ! -e no.trace ] || fail "a trace was written"
"$gvmsim" trace import both/requests.csv qwen.trace --container qwen >imported
"$gvmsim" trace import packed/requests.csv.zst packed.trace --container qwen >.out
cmp qwen.trace packed.trace || fail "compressed rows are another trace"
! grep -q attribution imported || fail "a run has an author: $(cat imported)"
answered=$(awk -F, '$1 == "qwen" && $12 == "completed"' both/requests.csv | tee answered | wc -l)
all=$(grep -c '^qwen,' both/requests.csv)
[ "$answered" -gt 10 ] && [ "$all" -gt "$answered" ] || fail "$answered of $all"
grep -q "^requests  *$answered$" imported || fail "$answered answers: $(cat imported)"
grep -q "^failures skipped  *$((all - answered))$" imported || fail "$all requests: $(cat imported)"

# The trace and the folder itself are replayed alike: the same lengths at the same distances.
replay() {
	go --out "$1" --set containers.llama.enabled=false --set containers.qwen.app.trace.divide=1 \
		--set "containers.qwen.app.trace.file=$2"
	awk -F, '$3 == "request" { if (!n++) first = $4; printf "%d %d\n", $4 - first, $7 }' "$1/requests.csv"
}
replay again "$work/qwen.trace" >arrivals
awk -F, '{ if (!n++) first = $4; printf "%d %d\n", $4 - first, $7 }' answered | cmp - arrivals ||
	fail "the replay has other requests"
grep '^container\|^qwen' both/requests.csv >qwen.csv
replay from-rows "$work/qwen.csv" | cmp - arrivals || fail "the rows are replayed otherwise"

# vLLM's result.
"$gvmsim" trace import "$source/tests/collect/logs/vllm-bench.json" bench.trace >imported || fail "bench.json"
grep -q "^requests  *3$" imported && grep -q "^failures skipped  *1$" imported || fail "$(cat imported)"
"$gvmsim" trace info bench.trace >info
grep -q "^span  *0.500 s, from 0.000 s$" info || fail "$(cat info)"
jq 'del(.start_times)' "$source/tests/collect/logs/vllm-bench.json" >old.json
expect 2 'old.json:start_times: is missing, allowed: what "vllm bench serve' trace import old.json no.trace
