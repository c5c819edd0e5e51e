#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# output.timeline=trace: protoc decodes it by our part of Perfetto's format. Slices of a track nest, contexts of a GPU
# do not overlap, nor do batches of its fault handler, sums are those of summary.json, arrows have two ends, pressure is
# told when a limit is cut. Perfetto itself is not tried here.
. "$(dirname "$0")/common.inc"

decode() {
	protoc --decode perfetto.protos.Trace --proto_path "$source/sim/timeline" trace.proto
}
cat >check.py <<'EOF2'
import json, re, sys
from collections import defaultdict

# Packets of protoc's text: two levels of braces are enough for what is looked at.
packets, packet, depth = [], None, 0
for line in open(sys.argv[1]):
    line = line.strip()
    if line == "packet {" and depth == 0:
        packet = defaultdict(list)
        depth = 1
    elif line.endswith("{"):
        packet["in " + line[:-2]].append(True)
        depth += 1
    elif line == "}":
        depth -= 1
        if depth == 0:
            packets.append(packet)
    else:
        key, value = line.split(": ", 1)
        packet[key].append(value.strip('"') if value.startswith('"') else value)

names, parents = {}, {}
events, flows_begin, flows_end = defaultdict(list), {}, {}
for packet in packets:
    if packet["in track_descriptor"]:
        uuid = packet["uuid"][0]
        assert uuid not in names, uuid
        names[uuid] = packet["name"][0]
        if packet["parent_uuid"]:
            assert packet["parent_uuid"][0] in names
            parents[uuid] = packet["parent_uuid"][0]
        continue
    track, date = packet["track_uuid"][0], int(packet["timestamp"][0])
    assert track in names
    events[track].append((date, packet["type"][0], packet))
    for flow in packet["flow_ids"]:
        assert flow not in flows_begin
        flows_begin[flow] = date
    for flow in packet["terminating_flow_ids"]:
        assert flow not in flows_end
        flows_end[flow] = date
        assert "page faults" in packet["name"], packet

# Slices of a track nest, in the order of time.
slices = defaultdict(list)
for track, list_ in events.items():
    open_, last = [], 0
    for date, kind, packet in list_:
        assert date >= last, (names[track], date, last)
        last = date
        if kind == "TYPE_SLICE_BEGIN":
            open_.append((date, packet["name"][-1] if len(packet["name"]) > 1 else packet["name"][0], packet))
        elif kind == "TYPE_SLICE_END":
            begin, name, began = open_.pop()
            slices[track].append((begin, date, began))
    assert not open_, names[track]

assert all(flow in flows_begin and flows_begin[flow] <= date for flow, date in flows_end.items())

def name(packet):
    # An annotation has a name, too; that of the event comes last.
    return packet["name"][-1]

def numbers(packet):
    # The names of annotations come in their order: the text's, if there is one, then those of numbers.
    keys = packet["name"][len(packet["string_value"]):-1]
    return dict(zip(keys, map(int, packet["uint_value"])))

gpu = next(uuid for uuid in names if names[uuid] == "gpu0")
contexts, sums, copied = [], defaultdict(int), defaultdict(int)
for track in parents:
    if parents[track] != gpu:
        continue
    for begin, end, packet in slices[track]:
        sums[names[track], name(packet)] += end - begin
        for what, number in numbers(packet).items():
            sums[names[track], what] += number
        if name(packet) == "batch":
            sums[names[track], "batches"] += 1
        if name(packet) in ("runs", "page faults", "context switch"):
            contexts.append((begin, end, names[track]))
contexts.sort()
batches = [slices[track] for track in parents if parents[track] == gpu and names[track] == "fault handler"][0]
for what, list_ in ("contexts", contexts), ("batches", batches):
    for one, two in zip(list_, list_[1:]):
        assert one[1] <= two[0], (what + " overlap", one, two)

result = {"sums": {"%s: %s" % key: value for key, value in sums.items()}, "flows": len(flows_begin),
          "arrows": len(flows_end), "tracks": len(names)}
requests = {}
for track in slices:
    if names[track].startswith("requests "):
        for begin, end, packet in slices[track]:
            if name(packet) == "request":
                requests[int(packet["uint_value"][0])] = [begin, end]
result["requests"] = requests
result["counters"] = sum(kind == "TYPE_COUNTER" for list_ in events.values() for _, kind, _ in list_)
result["first"] = min(date for list_ in events.values() for date, _, _ in list_)
result["last"] = max(date for list_ in events.values() for date, _, _ in list_)
result["instants"] = sorted({name(packet) for list_ in events.values() for _, kind, packet in list_ if kind == "TYPE_INSTANT"})
result["pressure"] = [[date, numbers(packet)] for list_ in events.values() for date, kind, packet in list_
                      if kind == "TYPE_INSTANT" and name(packet) == "pressure"]
json.dump(result, open(sys.argv[2], "w"))
EOF2

# The server comes when diffusion holds the GPU's memory: 15 requests in 4 s.
run() {
	"$gvmsim" run "$source/scenarios/vllm-diffusion-40g.json" --system gvm --quiet --set duration=22s \
		--set containers.vllm.start=18s --set containers.vllm.app.boot=18s "$@" >/dev/null
}
run --set output.timeline=trace --out whole || fail "run"
decode <whole/timeline.pftrace >whole.txt || fail "protoc does not decode it"
python3 check.py whole.txt whole.json || fail "the trace"
python3 - <<'EOF2' || fail "sums are not those of summary.json"
import csv, json
told, summary = json.load(open("whole.json")), json.load(open("whole/summary.json"))
for name, container in summary["containers"].items():
    for what, key in (("busy_ns", "gpu_seconds"), ("page faults", "stall_seconds"), ("context switch", "switching_seconds")):
        assert abs(told["sums"].get("%s: %s" % (name, what), 0) / 1e9 - container[key]) < 1e-9, (name, what)
    blocked = sum(ns for key, ns in told["sums"].items() if key.startswith(name + ": waits for page faults of"))
    assert abs(blocked / 1e9 - container["blocked_seconds"]) < 1e-9, name
for direction, key in (("copies to the GPU", "bytes_h2d"), ("copies to the host", "bytes_d2h")):
    copied = sum(container[key] for container in summary["containers"].values())
    assert told["sums"].get(direction + ": bytes", 0) == copied, (direction, copied)
# One container faults at a time, so a batch has faults of one container.
for what, key in (("batches", "fault_batches"), ("distinct", "faults")):
    handled = sum(container[key] for container in summary["containers"].values())
    assert told["sums"]["fault handler: " + what] == handled > 0, (what, handled)
assert told["flows"] == sum(container["evictions"] for container in summary["containers"].values())
assert 0 < told["arrows"] <= told["flows"]
rows = {int(row["id"]): row for row in csv.DictReader(open("whole/requests.csv")) if row["container"] == "vllm"}
assert len(told["requests"]) == len(rows) >= 10
for id, (begin, end) in told["requests"].items():
    row = rows[int(id)]
    assert begin == int(row["arrival_ns"]) and (not row["finish_ns"] or end == int(row["finish_ns"])), id
assert told["counters"] == 4 * sum(1 for _ in csv.DictReader(open("whole/timeline.csv")))
assert "eviction" in told["instants"] and "gmem.limit.high" in told["instants"], told["instants"]
EOF2

# zstd has the same bytes; other files are those of a run without a trace.
run --set output.timeline=trace.zst --out small || fail "run, zstd"
zstd -qdc small/timeline.pftrace.zst | cmp - whole/timeline.pftrace || fail "zstd: other bytes"
[ ! -e small/timeline.pftrace ] || fail "two traces"
run --out plain || fail "run without a trace"
for file in requests.csv timeline.csv; do
	cmp plain/$file whole/$file || fail "$file differs with a trace"
done
[ ! -e plain/timeline.pftrace ] || fail "a trace that nobody wanted"

# A window, and one around the worst request: nothing lies outside.
run --set output.timeline=trace --set output.trace_from=18.5s --set output.trace_to=21.5s --out window || fail "window"
decode <window/timeline.pftrace >window.txt && python3 check.py window.txt window.json || fail "the window"
run --set output.timeline=trace --set output.trace_worst=true --out worst || fail "worst"
decode <worst/timeline.pftrace >worst.txt && python3 check.py worst.txt worst.json || fail "the worst request"
run --set output.activity=true --out told || fail "run, activity"
"$gvmsim" explain told worst --json >told.json
python3 - <<'EOF2' || fail "windows"
import json
window, worst, told = (json.load(open(name + ".json")) for name in ("window", "worst", "told"))
assert window["first"] >= 18.5e9 and window["last"] <= 21.5e9, (window["first"], window["last"])
assert window["last"] - window["first"] > 2.7e9
assert worst["first"] >= told["arrival_ns"] - 10**9 and worst["last"] <= told["end_ns"] + 10**9
assert worst["requests"][str(told["id"])] == [told["arrival_ns"], told["end_ns"]]
EOF2

# A limit is cut at 150 s: the container is told how much it loses, once, and whether it listens is in the trace.
for listens in true false; do
	"$gvmsim" run "$source/scenarios/limit-cut.json" --quiet --set duration=151s --set output.timeline=trace \
		--set output.trace_from=149.9s --set containers.vllm.app.pressure=$listens --out cut-$listens >/dev/null || fail "cut"
	decode <cut-$listens/timeline.pftrace >cut.txt && python3 check.py cut.txt cut-$listens.json || fail "the cut"
done
python3 - <<'EOF2' || fail "pressure"
import json
heard, unheard = (json.load(open("cut-%s.json" % listens))["pressure"] for listens in ("true", "false"))
for events, listeners in (heard, 1), (unheard, 0):
    at_cut = [numbers for date, numbers in events if date == 150 * 10**9]
    assert len(at_cut) == 1 and at_cut[0]["listeners"] == listeners and at_cut[0]["bytes"] > 10**9, events
EOF2
