#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""What the simulator's formula (sim/systems/guardian_cost.c) says of kernels that were measured.

    python3 formula.py FENCE-RESULTS HITS-RESULTS

A kernel grows by hide x F / Lambda: F cycles of a fence, Lambda cycles of a mean access, by the kernel's hit rates of L1
and L2. F and the latencies are those of the dependent chains, hit rates those of ncu, hide the paper's (0.57) and 1.
Nothing is fitted."""
import re
import sys

MODES = ("fence", "once", "4g", "check", "count", "modulo")


def main():
    cycles, added, overhead, hits = {}, {}, {}, {}
    with open(sys.argv[1]) as file:
        for line in file:
            chain = re.match(r"chain mode=(\w+) place=(\w+) offset=0 cycles=([\d.]+) added=([\d.]+)", line)
            if chain and chain[1] == "native":
                cycles[chain[2]] = float(chain[3])
            elif chain:
                added.setdefault(chain[1], []).append(float(chain[4]))
            if line.startswith("kernel "):
                overhead[line.split()[1]] = {mode: float(value) for mode, value in re.findall(r"(\w+)=([+-][\d.]+)%/", line)}
    with open(sys.argv[2]) as file:
        for line in file:
            words = line.split()
            if len(words) == 6 and words[0] in overhead:
                hits[words[0]] = (float(words[2]) / 100, min(float(words[3]) / 100, 1))
    print("kernel measured and predicted (hide 0.57) growth in percent by mode")
    sums = {mode: [0, 0, 0, 0] for mode in MODES}
    for name in sorted(hits):
        l1, l2 = hits[name]
        mean = l1 * cycles["L1"] + (1 - l1) * (l2 * cycles["L2"] + (1 - l2) * cycles["DRAM"])
        text = "%-17s" % name
        for mode in MODES:
            growth = 100 * sum(added[mode]) / len(added[mode]) / mean
            text += " %s %6.1f %5.1f" % (mode, overhead[name][mode], 0.57 * growth)
            for i, value in enumerate((overhead[name][mode], 0.57 * growth, growth, overhead[name][mode] < growth)):
                sums[mode][i] += value
        print(text)
    for mode in MODES:
        measured, paper, whole, below = (value / len(hits) for value in sums[mode])
        print("mean of %d: %s measured %.1f, predicted %.1f with hide 0.57, %.1f with 1; %.0f of them grow by less than with 1" %
              (len(hits), mode, measured, paper, whole, below * len(hits)))


if __name__ == "__main__":
    main()
