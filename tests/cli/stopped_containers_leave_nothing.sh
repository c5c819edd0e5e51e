#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Events stop and restart an LLM server and a page player, under every system. A stopped container has no memory
# on the GPU. Its requests fail at the stop, and others up to the end of its next boot; each request of the trace
# is logged once. The next process loads the weights again.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# Two requests a second; the server is open from 10 to 20 s, from 32 to 38 s, and then closed.
{
	echo 'Timestamp,Request tokens,Response tokens'
	for half in $(seq 0 79); do
		echo "$((half / 2)).$((half % 2 * 5)),100,20"
	done
} >t.csv
"$gvmsim" trace import t.csv t.trace >.out
cat >s.json <<END
{ "name": "stops", "duration": "45s", "gpu": { "profile": "a100-40g" },
  "containers": {
    "vllm": { "start": "10s", "app": { "type": "llm-server", "profile": "vllm-llama-3.2-3b", "boot": "8s",
      "gpu_memory_utilization": 0.4, "trace": { "file": "t.trace" } } },
    "player": { "start": "1s", "app": { "type": "pages", "bytes": "1G", "kernel_time": "100us", "pause": "1ms" } } },
  "events": [
    { "at": "20.01s", "container": "vllm", "stop": true },
    { "at": "22s", "container": "player", "stop": true },
    { "at": "24.01s", "container": "vllm", "restart": true },
    { "at": "26s", "container": "player", "restart": true },
    { "at": "30s", "container": "player", "restart": true },
    { "at": "38.01s", "container": "vllm", "stop": true } ] }
END

# rows CONTAINER FROM TO TEST: the rows of the timeline in these tenths of a second hold an awk test of column 3
rows() {
	awk -F, -v name="$1" -v from="$2" -v to="$3" 'NR > 1 && $2 == name && $1 > from * 1e8 && $1 <= to * 1e8 {
		seen++
		if (!($3 '"$4"')) bad = bad "\n" $0
	} END { if (bad || seen != to - from) { print seen " rows" bad; exit 1 } }' out/timeline.csv >.told ||
		fail "$system: $1, memory $4: $(cat .told)"
}

systems=$("$gvmsim" reference systems | sed -n 's/^## //p')
[ "$(echo "$systems" | wc -l)" -ge 12 ] || fail "few systems: $systems"
for system in $systems; do
	"$gvmsim" run s.json --system "$system" --quiet --out out 2>.err || fail "$system: $(cat .err)"
	[ ! -s .err ] || fail "$system says $(cat .err)"
	head -n 1 out/timeline.csv | grep -q '^time_ns,container,resident_bytes,' || fail "columns have moved"
	rows vllm 201 240 '== 0'
	rows vllm 320 380 '> 5e9'
	rows vllm 381 450 '== 0'
	rows player 221 260 '== 0'
	rows player 270 450 '> 1e9'
	# 70 requests come before the end: 21 up to the first stop, 24 before the server is open again, 12 after it,
	# 13 after the second stop. The last one before each stop
	# is in flight then; under gvtg a request takes half a second, so the one before it may be, too.
	awk -F, 'NR > 1 && $1 == "vllm" { print $4, $6, $(NF - 1), $NF }' out/requests.csv >.log
	awk '{ want = 10e9 + (NR - 1) * 5e8
		fails = NR >= 21 && NR <= 45 || NR >= 57
		if ($1 != want || NR != 20 && NR != 56 && fails != ($3 == "failed" || $4 == "failed")) print "row " NR ": " $0 }
		END { if (NR != 70) print NR " rows" }' .log >.bad
	[ ! -s .bad ] || fail "$system: $(head -n 5 .bad)"
	jq -e '.containers.vllm | .status == "stopped at 38.010 s" and .requests.arrived == 70 and
		.gmem.current == 0 and .gmem.peak > 5e9 and .bytes_h2d > 12e9' out/summary.json >.told ||
		fail "$system: $(jq -c .containers.vllm out/summary.json)"
	jq -e '.containers.player | .status == "ok" and .gmem.current > 1e9' out/summary.json >.told ||
		fail "$system: $(jq -c .containers.player out/summary.json)"
done

expect 0 'note: events.0: container late has not begun\|events.0: container player is not running at 0.500 s, it is not stopped' \
	run s.json --quiet --out out --set duration=1s \
	--set 'events=[{"at": "0.5s", "container": "player", "stop": true}]'

# The dates of an open loop that begins at 0 s stay what they are: requests 7 to 10 come while it is stopped.
cat >open.json <<END
{ "name": "open", "duration": "9.9s", "gpu": { "profile": "a100-40g" },
  "containers": { "open": { "app": { "type": "phases", "open_loop": true, "trace": { "file": "t.trace" },
    "efficiency": 0.5, "memory_efficiency": 0.5, "kernel_launch": "1us", "tensors": { "w": { "bytes": "100M" } },
    "phases": [ { "name": "p", "kernels": 10, "flops": "1e12", "reads": [ { "tensor": "w" } ] } ] } } },
  "events": [ { "at": "3.1s", "container": "open", "stop": true },
    { "at": "5.1s", "container": "open", "restart": true } ] }
END
"$gvmsim" run open.json --system stock --quiet --out out
awk -F, 'NR > 1 { print $4, $(NF - 1), $NF }' out/requests.csv |
	awk '{ late = NR >= 8 && NR <= 11
		if ($1 != (NR - 1) * 5e8 || late != ($2 == "stopped")) print "row " NR ": " $0 }
		END { if (NR != 20) print NR " rows" }' >.bad
[ ! -s .bad ] || fail "open loop: $(head -n 5 .bad)"

"$gvmsim" run open.json --system stock --quiet --out out --set duration=6.9s --set containers.open.app.boot=5s
[ "$(sed 1d out/requests.csv | wc -l)" = 14 ] || fail "open loop after the end: $(tail -n 3 out/requests.csv)"

# The end of the run comes during writes of page tables, which are trapped and not interrupted.
"$gvmsim" run open.json --system gvtg --quiet --out out --set duration=100ms --set events='[]' \
	--set containers.open.app.open_loop=false --set 'containers.open.app.tensors={ "w": { "bytes": "4G" } }'
[ "$(sed 1d out/requests.csv | wc -l)" = 0 ] || fail "an iteration after the end: $(tail -n 1 out/requests.csv)"

# A server that is restarted is to find no room for its cache. The end of the run comes before, while its weights are
# copied, which is not interrupted: nothing that follows has a part in the run.
"$gvmsim" run s.json --system guardian --quiet --out out --set duration=11.1s \
	--set 'events=[ { "at": "11.01s", "container": "vllm", "restart": true } ]' \
	--set containers.vllm.guardian.partition=16G --set containers.player.guardian.partition=8G \
	--set containers.vllm.app.gpu_memory_utilization=0.7 --set containers.vllm.app.trace.divide=10 2>.err ||
	fail "a death after the end: $(cat .err)"
[ ! -s .err ] || fail "a death after the end: $(cat .err)"
awk -F, '$1 == "vllm" && $6 > 11.1e9' out/requests.csv >.bad
[ ! -s .bad ] || fail "a request after the end: $(tail -n 1 .bad)"
[ "$(grep -c '^vllm,' out/requests.csv)" = 22 ] || fail "requests up to the end: $(grep -c '^vllm,' out/requests.csv)"

# The same of a client, while the server's process exits behind copies of its own and of a neighbour's memory.
"$gvmsim" run s.json --system guardian --quiet --out out --set duration=1s --set events='[]' \
	--set containers.vllm.start=0s --set containers.vllm.app.boot=0s --set containers.vllm.app.trace.divide=20 \
	--set containers.vllm.app.gpu_memory_utilization=0.9 --set containers.player.start=200ms \
	--set containers.player.app.bytes=12G 2>.err || fail "a client after the end: $(cat .err)"
grep -q 'vllm: context died at 0.[0-9]* s' .err || fail "no early death: $(cat .err)"
awk -F, '$1 == "vllm" && $4 > 1e9' out/requests.csv >.bad
[ ! -s .bad ] || fail "a request to a dead server after the end: $(tail -n 1 .bad)"
grep -c '^vllm,' out/requests.csv >.count
[ "$(cat .count)" -gt 15 ] || fail "requests to a dead server: $(cat .count)"
