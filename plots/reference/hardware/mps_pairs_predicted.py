#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""Speeds of pairs of kernels under MPS with limits: predicted by gvmsim beside measured ones.

    python3 mps_pairs_predicted.py GVMSIM h200-580-mps-limits.txt

Each kind of mps_pairs.py becomes an application of one CUDA graph: as much arithmetic or traffic
as its time alone without a limit says, its thread blocks, and its bytes. A speed is the rate of
kernels beside another one over that alone with the same limit, as it is measured.
"""
import collections
import json
import math
import os
import subprocess
import sys
import tempfile

# What bounds it, thread blocks, bytes of its operands; tiles of 128 x 128 for products.
KINDS = {
    "product-8192": ("flops", 2048, 3 * 8192 * 8192 * 2),
    "product-1024": ("flops", 128, (1024 * 5120 + 5120 * 1280 + 1024 * 1280) * 2),
    "prefill-256": ("flops", 256, (256 * 3072 + 3072 * 16384 + 256 * 16384) * 2),
    "decode-32": ("traffic", 264, 16384 * 3072 * 2),
    "attention-4096": ("flops", 640, 4 * 2 * 10 * 4096 * 64 * 2),
    "convolution-64": ("flops", 264, 2 * 2 * 64 * 64 * 640 * 2),
    "elements-128M": ("traffic", 32768, 2 * 128 << 20),
    "norm-32": ("cycles", 32, 2 * 32 * 3072 * 2),
}
FLOPS, BANDWIDTH, CYCLES = 989.5e12, 4.8e12, 132 * 1.98e9  # a second, scenarios/gpus/h200-141g.json
START_US, GRAPH_US = 1.0, 4000.0


def measured(path):
    """For each pair of limits: times alone by limit and kind, speeds by pair of kinds."""
    times, speeds, limits = {}, collections.defaultdict(dict), None
    with open(path) as file:
        for line in file:
            words = line.split()
            if line.startswith("# limits"):
                limits = tuple(int(n) for n in line[line.index("(") + 1:line.index(")")].split(","))
            elif words[0] == "alone":
                times[int(words[1]), words[3]] = float(words[4])
            elif words[0] == "pair":
                speeds[limits][words[1], words[2]] = float(words[4]), float(words[5])
    return times, speeds


def client(kind, us, limit):
    """A container that replays a graph of such kernels."""
    bound, blocks, moved = KINDS[kind]
    kernels = max(2, min(400, int(GRAPH_US / us)))
    rate = {"flops": FLOPS, "traffic": BANDWIDTH, "cycles": CYCLES}[bound]
    start_us = us - 1 if bound == "cycles" else START_US
    phase = {"name": kind, "kernels": kernels, "graph": True, "blocks": blocks,
             "kernel_overhead": f"{start_us * 1e3:.0f}ns",
             bound: int(kernels * rate * (us - start_us) * 1e-6)}
    if bound != "traffic":
        phase["traffic_beside"] = int(kernels * min(moved, BANDWIDTH * (us - start_us) * 0.9e-6))
    return {"mps.limit": limit,
            "app": {"type": "phases", "tensors": {"all": {"bytes": "2M"}}, "phases": [phase],
                    "efficiency": 1, "memory_efficiency": 1, "kernel_launch": "2us"}}


def rates(gvmsim, containers):
    """Kernels a second of each."""
    scenario = {"name": "pair", "description": "Two kinds of kernels.", "duration": "0.4s",
                "seed": 1, "gpu": {"profile": "h200-141g"}, "system": {"name": "mps"},
                "containers": containers}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pair.json")
        with open(path, "w") as file:
            json.dump(scenario, file)
        subprocess.run([gvmsim, "run", path, "--out", folder + "/out"], check=True,
                       stdout=subprocess.DEVNULL)
        with open(folder + "/out/summary.json") as file:
            return {name: container["kernels"]["ended"]
                    for name, container in json.load(file)["containers"].items()}


def main():
    """Print each pair, and how far predictions are off by pair of limits."""
    gvmsim, path = sys.argv[1:]
    times, speeds = measured(path)
    for limits, pairs in speeds.items():
        alone = {(limit, kind): rates(gvmsim, {"a": client(kind, times[100, kind], limit)})["a"]
                 for limit in limits for kind in KINDS}
        errors = []
        for kinds, found in pairs.items():
            together = rates(gvmsim, {name: client(kind, times[100, kind], limit)
                                      for name, kind, limit in zip("ab", kinds, limits)})
            predicted = [together[name] / alone[limit, kind]
                         for name, kind, limit in zip("ab", kinds, limits)]
            errors += [abs(math.log(max(p, 1e-3) / f)) for p, f in zip(predicted, found)]
            print(limits, *kinds, "predicted", *(f"{p:.2f}" for p in predicted),
                  "measured", *(f"{f:.2f}" for f in found))
        errors.sort()
        print(f"# limits {limits}: median error {math.expm1(errors[len(errors) // 2]):.0%}, "
              f"within 25 %: {sum(e < math.log(1.25) for e in errors)} of {len(errors)}")


if __name__ == "__main__":
    main()
