#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""What the simulator's formula (sim/systems/guardian_cost.c) says of chains, kernels and a program that were measured.

    python3 formula.py [--rows] FENCE-RESULTS HITS-RESULTS PROGRAM-RESULTS

A kernel grows by F / Lambda: F cycles of a fence, Lambda cycles of a mean access, by the kernel's hit rates of L1 and
L2. F is what a fence adds to the chain of dependent loads in L1, latencies are those of the chains, hit rates those of
ncu. Nothing is fitted. Prints measured and predicted growth in percent, or with --rows the measured one as "gvmsim
validate hardware" reads it."""
import re
import sys

MODES = ("fence", "once", "4g", "check", "count", "modulo")


class Results:
    def __init__(self):
        self.native = {}  # cycles of a load, by place
        self.added = {}  # cycles, by mode and offset, in L1
        self.rows = []  # group, name, L1, L2 and offsets in percent, growth in percent by mode


def read_fences(file, results):
    """Returns growth by kernel and mode."""
    kernels = {}
    chains = {}
    for line in file:
        chain = re.match(r"chain mode=(\w+) place=(\w+) offset=(\d+) cycles=([\d.]+) added=([\d.]+)", line)
        if chain:
            mode, place, offset, cycles = chain[1], chain[2], int(chain[3]) > 0, float(chain[4])
            if mode == "native":
                results.native[place, offset] = cycles
            else:
                chains.setdefault((place, offset), {})[mode] = 100 * (cycles / results.native[place, offset] - 1)
                if place == "L1":
                    results.added[mode, offset] = float(chain[5])
        if line.startswith("kernel "):
            kernels[line.split()[1]] = {mode: float(value) for mode, value in re.findall(r"(\w+)=([+-][\d.]+)%/", line)}
    for (place, offset), growth in chains.items():
        if place != "L1":  # that one is where the cycles come from
            name = place + "+offset" * offset
            results.rows.append(("chain", name, 0, 100 * (place == "L2"), 100 * offset, growth))
    return kernels


def read_hits(file, results, kernels):
    """Returns the hit rates of the program, which has the first table."""
    program = None
    for line in file:
        words = line.split()
        if len(words) != 6 or not words[1].isdigit():
            continue
        l1, l2 = float(words[2]), min(float(words[3]), 100)
        if words[0] == "all" and not program:
            program = (l1, l2)
        if words[0] in kernels:
            results.rows.append(("kernel", words[0], l1, l2, 0, kernels[words[0]]))
    return program


def read_program(file, results, hits):
    steps = {}
    for line in file:
        run = re.match(r"lenet (\w+): train .* steps/s ([\d.]+)", line)
        if run:
            steps.setdefault(run[1], []).append(float(run[2]))
    native = sum(steps["native"]) / len(steps["native"])
    growth = {mode: 100 * (native * len(steps[mode]) / sum(steps[mode]) - 1) for mode in MODES if mode in steps}
    results.rows.append(("program", "lenet", hits[0], hits[1], 0, growth))


def predicted(results, row, mode):
    l1, l2, offset = row[2] / 100, row[3] / 100, row[4] > 0
    behind = l2 * results.native["L2", False] + (1 - l2) * results.native["DRAM", False]
    return 100 * results.added[mode, offset] / (l1 * results.native["L1", False] + (1 - l1) * behind)


def main():
    as_rows = "--rows" in sys.argv
    files = [open(name) for name in sys.argv[1:] if name != "--rows"]
    results = Results()
    kernels = read_fences(files[0], results)
    hits = read_hits(files[1], results, kernels)
    read_program(files[2], results, hits)
    if not as_rows:
        print("growth in percent by mode: measured, predicted")
    for row in results.rows:
        head = "fence %s %s %g %g %g" % row[:5] if as_rows else "%-7s %-17s" % row[:2]
        for mode in MODES:
            if mode in row[5]:
                head += " %s %.1f" % (mode, row[5][mode])
                head += "" if as_rows else " %.1f" % predicted(results, row, mode)
        print(head)
    for mode in () if as_rows else MODES:
        rows = [row for row in results.rows if row[0] == "kernel"]
        mean = [sum(values) / len(rows) for values in zip(*((row[5][mode], predicted(results, row, mode)) for row in rows))]
        print("mean of %d kernels: %s measured %.1f, predicted %.1f; %d of them grow by less" %
              (len(rows), mode, mean[0], mean[1], sum(row[5][mode] < predicted(results, row, mode) for row in rows)))


if __name__ == "__main__":
    main()
