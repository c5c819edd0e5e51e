#!/bin/sh
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# Intervals over blocks of arrivals: they hold the estimate, are the same when drawn again, and are none where all
# arrivals are in one block. Rates are those of the client's time, as in the results.
. "$(dirname "$0")/common.inc"

blocks() {
	printf '{"scenario": "vllm-diffusion-80g", "set": {"duration": "90s"}, "grid": {"system.name": ["gvm"]},
		"interval": {"over": "blocks", "block": "%s"}}' "$1" >"s.json"
	"$gvmsim" sweep s.json --out out >/dev/null 2>.err || fail "blocks of $1: $(cat .err)"
	cp out/intervals.csv "$1.csv"
}
blocks 2s
blocks 600s
cp 2s.csv before
blocks 2s
cmp before 2s.csv || fail "drawn again, it differs"
python3 - <<'EOF2' || fail "intervals"
import csv
few, many = ({row["metric"]: row for row in csv.DictReader(open(name))} for name in ("600s.csv", "2s.csv"))
assert not any(row["low"] or row["high"] or row["interval"] for row in few.values()), few
drawn = {name: row for name, row in many.items() if row["interval"]}
for name, row in drawn.items():
    low, estimate, high = float(row["low"]), float(row["estimate"]), float(row["high"] or "inf")
    assert low <= estimate <= high, (name, low, estimate, high)
for name in ("vllm.ttft_ms.p50", "vllm.requests.arrived"):
    assert float(drawn[name]["low"]) < float(drawn[name]["high"]), drawn[name]
assert not any(name.startswith("vllm.itl") or name.endswith("faults") for name in drawn), list(drawn)
EOF2

# A client that ends before the run: by its stop, or as all is answered. Rates are of its time.
for drops in true false; do
	printf '{"scenario": "vllm-diffusion-80g", "set": {"duration": "120s", "containers.vllm.app.client.stop": "20s",
		"containers.vllm.app.client.drop_in_flight": %s}, "grid": {"system.name": ["stock"]},
		"interval": {"over": "blocks", "block": "2s"}}' $drops >early.json
	"$gvmsim" sweep early.json --out "early-$drops" >/dev/null 2>.err || fail "an early end: $(cat .err)"
done
python3 - <<'EOF2' || fail "intervals of a client that ends early"
import csv
for drops in ("true", "false"):
    rows = {row["metric"]: row for row in csv.DictReader(open(f"early-{drops}/intervals.csv"))}
    for name in ("vllm.requests_per_s", "vllm.goodput_per_s", "vllm.tokens_per_s"):
        low, estimate, high = (float(rows[name][key]) for key in ("low", "estimate", "high"))
        assert low < estimate < high, (drops, rows[name])
assert rows["vllm.requests_per_s"]["interval"], rows
EOF2
