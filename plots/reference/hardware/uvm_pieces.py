#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""What does a piece of a copy cost the driver?

    uvm_pieces.py OUT

A kernel reads 1 to 16 addresses of 4 KB in each page of 64 KB, over managed memory that lies on
the host. The driver copies missed addresses and prefetched ones in pieces of their own. So
addresses with others between them make more pieces than adjacent ones, at the same faults. Each
case has a median time without events, and then counts by uvm_events.c (see uvm_batches.py).
OUT/pieces.txt gets

    pieces ADDRESSES adjacent|spread ms p25 p50 p75, batches, faults, blocks, copies
"""

import os
import statistics
import sys

import numpy as np
import torch

import uvm_batches  # finds tools/corun, too
import managed

PAGES = 2048  # of 64 KB
ADDRESSES, ADDRESS_BYTES = 16, 4096
CASES = [(count, kind) for count in (1, 2, 4, 8) for kind in ("adjacent", "spread")] + \
    [(16, "adjacent")]
ROUNDS = 15


def main():
    """Times, then events."""
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    region = managed.Region(PAGES * ADDRESSES * ADDRESS_BYTES)
    words = region.take((PAGES, ADDRESSES, ADDRESS_BYTES // 4), torch.int32).zero_()[:, :, 0]

    def reader(count, kind):
        chosen = words[:, :count] if kind == "adjacent" else words[:, ::ADDRESSES // count]
        chosen.sum()

        def read():
            chosen.sum()
        return read

    def send():
        region.send_to_host()
        torch.cuda.synchronize()

    times = {}
    readers = {case: reader(*case) for case in CASES}
    for _ in range(ROUNDS):  # all cases in turns: the host's speed drifts
        for case in CASES:
            send()
            times.setdefault(case, []).append(uvm_batches.timed(readers[case]))
    recorder = uvm_batches.Recorder(out)
    with open(os.path.join(out, "pieces.txt"), "w", encoding="utf-8") as file:
        for case in CASES:
            send()
            batches = list(uvm_batches.batches_of(recorder.record(readers[case])))
            faults = sum(len(found) for found, _ in batches)
            blocks = sum(len(set((found["address"] >> np.uint64(uvm_batches.BLOCK_SHIFT)).tolist())) for found, _ in batches)
            copies = sum(len(moved) for _, moved in batches)
            low, median, high = statistics.quantiles(times[case], n=4)
            file.write(f"pieces {case[0]} {case[1]} {low:.2f} {median:.2f} {high:.2f} "
                       f"batches {len(batches)} faults {faults} blocks {blocks} "
                       f"copies {copies}\n")


if __name__ == "__main__":
    main()
