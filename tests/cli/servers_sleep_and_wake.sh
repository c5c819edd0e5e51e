#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
# Events put an LLM server to sleep and wake it, under every system. Asleep it has its context on the GPU alone, and no
# request is answered; none is lost. A neighbour that needs most of the GPU has all of its memory there then.
# Usage: NAME.sh GVMSIM SOURCE
. "$(dirname "$0")/common.inc"

# Two requests a second from 10 s on; the server sleeps from 20 to 30 s.
{
	echo 'Timestamp,Request tokens,Response tokens'
	for half in $(seq 0 59); do
		echo "$((half / 2)).$((half % 2 * 5)),100,20"
	done
} >t.csv
"$gvmsim" trace import t.csv t.trace >.out
cat >s.json <<END
{ "name": "sleeps", "duration": "50s", "gpu": { "profile": "a100-40g" },
  "containers": {
    "vllm": { "start": "10s", "app": { "type": "llm-server", "profile": "vllm-llama-3.2-3b", "boot": "8s",
      "gpu_memory_utilization": 0.4, "trace": { "file": "t.trace" } } } },
  "events": [
    { "at": "20.1s", "container": "vllm", "sleep": 1 },
    { "at": "30s", "container": "vllm", "wake": true } ] }
END

# memory CONTAINER FROM TO TEST: the rows of the timeline in these tenths of a second hold an awk test of column 3
memory() {
	awk -F, -v name="$1" -v from="$2" -v to="$3" 'NR > 1 && $2 == name && $1 > from * 1e8 && $1 <= to * 1e8 {
		seen++
		if (!($3 '"$4"')) bad = bad "\n" $0
	} END { if (bad || seen != to - from) { print seen " rows" bad; exit 1 } }' out/timeline.csv >.told ||
		fail "$system, level $level: $1, memory $4: $(cat .told)"
}

run() {
	"$gvmsim" run s.json --system "$system" --quiet --out out "$@" 2>.err || fail "$system: $(cat .err)"
	[ ! -s .err ] || fail "$system says $(cat .err)"
}

context=316669952 # 300 MiB and its page tables; systems without files of gmem count neither
systems=$("$gvmsim" reference systems | sed -n 's/^## //p')
[ "$(echo "$systems" | wc -l)" -ge 12 ] || fail "few systems: $systems"
for system in $systems; do
	for level in 1 2; do
		# A guest of gvtg traps at each entry of its page tables that it clears: 0.8 s a GiB with small pages.
		case $system in
		gvtg) run --set "events.0.sleep=$level" --set system.page=2M ;;
		*) run --set "events.0.sleep=$level" ;;
		esac
		memory vllm 110 201 '> 1.5e10'
		memory vllm 215 300 "<= $context"
		jq -e '.containers.vllm | .requests.arrived == 60 and .requests.completed == 60 and
			.gmem.current > 1.5e10' out/summary.json >.told ||
			fail "$system, level $level: $(jq -c .containers.vllm out/summary.json)"
		# Some are sent while it sleeps.
		awk -F, 'NR > 1 && $4 > 20.2e9 && $4 < 30e9 { late += $6 > 30e9; all++ }
			END { print all, late; exit all < 19 || all != late }' out/requests.csv >.late ||
			fail "$system, level $level: asleep, sent and answered later: $(cat .late)"
	done
done

# A player's 30 GiB and the server's 15 GiB do not fit into 40 GB. Nothing is copied out while the server sleeps.
system=gvm level=2
player='containers.player={"start": "22s", "app": {"type": "pages", "bytes": "30G", "kernel_time": "100us", "pause": "1ms"}}'
run --set duration=29s --set 'events.1.at=29s' --set "$player"
memory player 285 290 '> 3.2e10'
jq -e '[.containers[].bytes_d2h] == [0, 0]' out/summary.json >.told || fail "paging beside a server that sleeps"
run --set duration=29s --set 'events=[]' --set "$player"
jq -e '[.containers[].bytes_d2h] | add > 1e9' out/summary.json >.told || fail "no paging beside a server that is awake"

# The note names an event that finds no server.
expect 0 'note: events.0: container vllm is not running at 5.000 s, it does not sleep' run s.json --quiet --out out \
	--set duration=6s --set 'events=[{"at": "5s", "container": "vllm", "sleep": 1}]'
