#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""What each kernel of a program loses beside another program under MPS, on a real GPU.

    python3 mps_kernels.py unet-train,swin-train bert-infer,resnet50-train > h200-580-mps-kernels.txt

Each pair of programs of tools/corun/programs.py runs alone and together, as clients of an MPS
daemon of this script's own, for a second each (--seconds), first without the profiler, then with
it. A row tells of the kernels of one name and grid: how many a step has, how long one takes, and
how long the GPU had no kernel of this program before it. Only kernels that matter have rows; the
first row of a program has the sums of all.
Needs what programs.py needs. Changes no setting of the card.
"""
import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time

import mps_pairs

HERE = os.path.dirname(os.path.abspath(__file__))
KIT = os.path.join(HERE, "..", "..", "..", "tools", "corun")


def read_kernels(path):
    """(name, grid, start, length in us) of each kernel of a trace, in order of starts."""
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    found = [(e["name"], "x".join(str(n) for n in e["args"]["grid"]), e["ts"], e["dur"])
             for e in events if e.get("cat") == "kernel"]
    return sorted(found, key=lambda kernel: kernel[2])


def serve(name):
    """A worker: loads the program, then answers commands, one JSON line each."""
    sys.path.insert(0, KIT)
    import programs
    import torch

    torch.manual_seed(0)
    step = programs.PROGRAMS[name]("cuda", False)
    for _ in range(10):
        step()

    def run(start, seconds):
        while time.monotonic() < start:
            pass
        ends = [time.monotonic()]
        while ends[-1] < start + seconds:
            step()
            ends.append(time.monotonic())
        return len(ends) - 1, (ends[-1] - ends[0]) * 1e3

    def traced(start, seconds, path):
        cuda = [torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=cuda) as profiler:
            result = run(start, seconds)
            torch.cuda.synchronize()
        profiler.export_chrome_trace(path)
        return result

    print("@" + json.dumps("ready"), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        answer = run(*command[1:]) if command[0] == "run" else traced(*command[1:])
        print("@" + json.dumps(answer), flush=True)


class Worker(mps_pairs.Worker):
    """A client of the MPS server that runs a program."""

    def __init__(self, name, environment):
        self.child = subprocess.Popen([sys.executable, __file__, "--serve", name],
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                      env=dict(os.environ, **environment))
        self.name, self.kernels = name, None
        self.answer()


def measure(workers, seconds, folder):
    """Run programs together. Returns for each: (ms a step, with the profiler, steps, kernels)."""
    times = []
    for traced in (False, True):
        start = time.monotonic() + (1.0 if traced else 0.1)
        for worker in workers:
            path = os.path.join(folder, worker.name + ".json")
            worker.ask(*(["traced", start, seconds, path] if traced else ["run", start, seconds]))
        times.append([worker.answer() for worker in workers])
    return [(plain[1] / plain[0], traced[1] / traced[0], traced[0],
             read_kernels(os.path.join(folder, worker.name + ".json")))
            for worker, plain, traced in zip(workers, *times)]


def by_kind(kernels, steps):
    """By (name, grid): kernels a step, us of one, us without a kernel before one."""
    sums, end = collections.defaultdict(lambda: [0, 0.0, 0.0]), None
    for name, grid, start, length in kernels:
        found = sums[name, grid]
        found[0] += 1
        found[1] += length
        found[2] += max(start - end, 0) if end is not None else 0
        end = max(start + length, end or 0)
    return {kind: (n / steps, length / n, gap / n) for kind, (n, length, gap) in sums.items()}


def report(worker, alone, beside, rows):
    """Print what a program lost, and its kernels that lost most."""
    print(f"{worker.name} step {alone[0]:.2f} ms alone, {beside[0]:.2f} together; with the "
          f"profiler {alone[1]:.2f}, {beside[1]:.2f}")
    kinds = [by_kind(result[3], result[2]) for result in (alone, beside)]
    for text, place in (("kernels", 1), ("no kernel", 2)):
        print(f"  {text} {sum(k[0] * k[place] for k in kinds[0].values()) / 1e3:.2f} ms a step "
              f"alone, {sum(k[0] * k[place] for k in kinds[1].values()) / 1e3:.2f} together")
    both = [(kind, kinds[0][kind], kinds[1][kind]) for kind in kinds[0] if kind in kinds[1]]
    both.sort(key=lambda row: -abs(row[1][0] * (sum(row[2][1:]) - sum(row[1][1:]))))
    for (name, grid), (count, length, gap), (_, longer, wider) in both[:rows]:
        print(f"  {count:.1f} a step, {length:.1f} us -> {longer:.1f}, before it {gap:.1f} -> "
              f"{wider:.1f}, grid {grid}: {name[:110]}")


def main():
    """Measure each pair."""
    parser = argparse.ArgumentParser(description="kernels of programs under MPS")
    parser.add_argument("pairs", nargs="+", type=lambda text: text.split(","))
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--rows", type=int, default=25)
    parser.add_argument("--keep", help="a folder for the traces")
    arguments = parser.parse_args()
    with mps_pairs.daemon("mps-kernels") as (mps, _):
        for pair in arguments.pairs:
            workers = [Worker(name, mps) for name in pair]
            results = {}
            for label, group in (("alone", [0]), ("alone", [1]), ("together", [0, 1])):
                with tempfile.TemporaryDirectory() as scratch:
                    folder = scratch
                    if arguments.keep:
                        folder = os.path.join(arguments.keep, "-".join(pair) + "." + label)
                        os.makedirs(folder, exist_ok=True)
                    found = measure([workers[i] for i in group], arguments.seconds, folder)
                results.update({(label, i): result for i, result in zip(group, found)})
            print("# pair", *pair, flush=True)
            for i, worker in enumerate(workers):
                report(worker, results["alone", i], results["together", i], arguments.rows)
                worker.stop()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2])
    else:
        main()
