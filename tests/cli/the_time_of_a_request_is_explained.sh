#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# activity.csv has all of the time of each container, and its sums are those of summary.json. gvmsim explain divides the
# time of a request exactly.
. "$(dirname "$0")/common.inc"

# Systems whose TSGs take turns, share SMs, have fixed turns, and are alone.
for system in gvm ghost mps vgpu exclusive; do
	machine=40g
	case $system in mps | vgpu) machine=80g ;; esac
	"$gvmsim" run "$source/scenarios/vllm-diffusion-$machine.json" --system $system --set duration=130s --set output.activity=true --out $system --quiet >/dev/null || fail "$system"
	python3 - $system <<'EOF2' || fail "$system: activity.csv"
import csv, json, sys
from collections import defaultdict
folder = sys.argv[1]
summary = json.load(open(folder + "/summary.json"))
sums, last = defaultdict(int), {}
for row in csv.DictReader(open(folder + "/activity.csv")):
    name, begin, end = row["container"], int(row["from_ns"]), int(row["to_ns"])
    assert begin < end and last.get(name, begin) == begin, ("a gap or an overlap", row)
    last[name] = end
    sums[name, row["activity"]] += end - begin
    sums[name, "busy"] += int(row["busy_ns"])
    sums[name, "slow"] += int(row["slow_ns"])
    assert int(row["busy_ns"]) + int(row["slow_ns"]) <= end - begin, row
    assert not row["by"] or row["activity"] in ("blocked", "waits"), row
    assert row["by"] != name, row
for name, container in summary["containers"].items():
    assert last[name] == round(summary["sim_seconds"] * 1e9), name
    for activity, key in (("busy", "gpu_seconds"), ("slow", "slow_seconds"), ("stalled", "stall_seconds"), ("blocked", "blocked_seconds"),
                          ("waits", "waited_seconds"), ("switching", "switching_seconds")):
        seconds = container[key] or 0
        assert abs(sums[name, activity] / 1e9 - seconds) < 1e-9, (folder, name, activity, sums[name, activity], seconds)
EOF2
done

# The record changes nothing else.
"$gvmsim" run "$source/scenarios/vllm-diffusion-40g.json" --system gvm --set duration=130s --out plain --quiet >/dev/null
cmp plain/requests.csv gvm/requests.csv || fail "requests.csv differs"
cmp plain/timeline.csv gvm/timeline.csv || fail "timeline.csv differs"

# Requests of real runs: the parts add up, and only those blame another container who share a GPU.
for system in gvm mps exclusive; do
	for request in worst 0 7 30 vllm:worst diffusion:1; do
		"$gvmsim" explain $system $request --json >$system.json || fail "explain $system $request"
		python3 - $system.json $system <<'EOF2' || fail "explain $system $request"
import json, sys
told = json.load(open(sys.argv[1]))
whole = 0
for phase in told["phases"].values():
    others = [phase.pop(key) for key in ("others_compute", "others_faults")]
    ns = phase.pop("ns")
    assert ns == sum(phase.values()) + sum(sum(other.values()) for other in others), told
    assert told["container"] not in others[0] and told["container"] not in others[1], told
    assert sys.argv[2] != "exclusive" or others == [{}, {}], told
    whole += ns
assert whole == told["end_ns"] - told["arrival_ns"], told
EOF2
	done
done
"$gvmsim" explain gvm 30 >told || fail "explain"
grep -q "^request 30 of vllm, system gvm: arrived at" told || fail "head: $(cat told)"
grep -q "^mostly: " told || fail "no culprits: $(cat told)"

# A request by hand: each number is known.
mkdir hand && cp gvm/summary.json hand
cat >hand/requests.csv <<'EOF2'
container,id,kind,arrival_ns,first_ns,finish_ns,prompt_tokens,output_tokens,start_ns,preemptions,reason,outcome
vllm,4,request,1000,4000,9000,10,20,2000,0,,completed
EOF2
cat >hand/activity.csv <<'EOF2'
container,from_ns,to_ns,activity,busy_ns,slow_ns,by
diffusion,0,9999,runs,9999,0,
vllm,500,1500,runs,600,200,
vllm,1500,2100,waits,0,0,diffusion
vllm,2100,2300,switching,0,0,
vllm,2300,3000,stalled,0,0,
vllm,3000,5000,blocked,0,0,diffusion
vllm,5000,6000,idle,0,0,
vllm,6000,6500,waits,0,0,
EOF2
"$gvmsim" explain hand 4 --json | python3 -c '
import json, sys
phases = json.load(sys.stdin)["phases"]
zero = dict(compute=0, part_of_gpu=0, own_faults=0, switching=0, held=0, host=0, others_compute={}, others_faults={})
expected = {
    "queue": zero | dict(ns=1000, compute=300, part_of_gpu=100, host=100, others_compute={"diffusion": 500}),
    "prefill": zero | dict(ns=2000, others_compute={"diffusion": 100}, switching=200, own_faults=700, others_faults={"diffusion": 1000}),
    "decode": zero | dict(ns=5000, others_faults={"diffusion": 1000}, host=3500, held=500),
}
assert phases == expected, phases
' || fail "the request by hand"

# Mistakes.
expect 2 "plain/activity.csv: is not there; make the run again with --set output.activity=true" explain plain 1
expect 2 "\"first\" is no request" explain gvm first
expect 2 "has no request \"999999\"" explain gvm 999999
expect 2 'has no request of container "none"' explain gvm none:worst
expect 2 "none/summary.json: cannot be read" explain none 1
"$gvmsim" run vllm-diffusion-40g --set duration=1ms --set output.activity=true --quiet --out short
expect 2 "short/requests.csv: has no request: none arrived in the run" explain short worst
expect 2 "has no request" explain gvm "$(printf 'x%.0s' $(seq 300)):worst"
expect 2 "is no request" explain gvm :worst
sed -i 's/stalled/asleep/' hand/activity.csv
expect 2 "hand/activity.csv:6: is not a row of activity.csv" explain hand 4
sed -i 's/,4000,9000,/,1500,9000,/' hand/requests.csv
expect 2 "hand/requests.csv:2: has dates that are not in order" explain hand 4
sed -i 's/request,1000,1500/request,999000000000000,1500/' hand/requests.csv
expect 2 "hand/requests.csv:2: has dates that are not in order" explain hand worst
sed -i 's/"sim_seconds": [0-9.]*/"sim_seconds": 1e300/' hand/summary.json
expect 2 "hand/summary.json:sim_seconds: is not a time in seconds" explain hand 4
