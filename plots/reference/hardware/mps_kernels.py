#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""What each kernel of a program loses beside another program under MPS, on a real GPU.

    python3 mps_kernels.py unet-train,swin-train resnet50-train,gpt2-train > h200-580-mps-kernels.txt

Each pair of programs of tools/corun/programs.py runs alone and together, as clients of an MPS
daemon of this script's own, for a second each (--seconds), first without the profiler, then with
it. A row tells of the kernels of one name and grid: how many a step has, how long one takes, and
how long the GPU had no kernel of this program before it. Only kernels that matter have rows; the
first row of a program has the sums of all.

Then: kernels that come while one of the other program runs. That one is "closed" if its blocks
fill the SMs more than four times, so that it has blocks to give out for most of its time; "full"
if it has none, and leaves no SM enough for a block of 128 threads with 32 registers; "open" if it
has none and leaves that; else "between". What the newcomer loses, by waiting and by running more
slowly than alone, is in parts of the time that the other one still had.

With the programs that replay a CUDA graph, the profiler did not come back under MPS.
Needs what programs.py needs. Changes no setting of the card.
"""
import argparse
import bisect
import collections
import itertools
import json
import math
import os
import subprocess
import sys
import tempfile
import time

import mps_pairs

SMS = 132
SM = (2048, 65536, 228 << 10, 32)  # threads, registers, bytes of shared memory, blocks: of Hopper
OTHER = (128, 4096, 1024, 1)  # a block of PyTorch's kernels that go element by element
ROOMS = ["closed", "between", "full", "open"]
SIZES = ["up to 1/4", "up to 1", "up to 4", "more", "large"]  # blocks for each SM

HERE = os.path.dirname(os.path.abspath(__file__))
KIT = os.path.join(HERE, "..", "..", "..", "tools", "corun")


Kernel = collections.namedtuple("Kernel", "name grid start us blocks takes")


def read_kernel(event):
    """A kernel of a trace, with what a block of it takes of an SM."""
    args = event["args"]
    warps = math.ceil(math.prod(args["block"]) / 32)
    registers = math.ceil(args["registers per thread"] * 32 / 256) * 256
    takes = (warps * 32, warps * registers, args["shared memory"] + 1024, 1)
    return Kernel(event["name"], "x".join(str(n) for n in args["grid"]), event["ts"], event["dur"],
                  math.prod(args["grid"]), takes)


def read_kernels(path):
    """The kernels of a trace, in order of starts."""
    with open(path) as file:
        events = json.load(file)["traceEvents"]
    return sorted((read_kernel(e) for e in events if e.get("cat") == "kernel"),
                  key=lambda kernel: kernel.start)


def room(kernel):
    """What room a kernel leaves: one of ROOMS."""
    held = min(has // takes for has, takes in zip(SM, kernel.takes) if takes)
    waves = kernel.blocks / (max(held, 1) * SMS)
    if waves > 1:
        return "closed" if waves > 4 else "between"
    left = [has - kernel.blocks // SMS * takes for has, takes in zip(SM, kernel.takes)]
    return "open" if all(has >= takes for has, takes in zip(left, OTHER)) else "full"


def size(kernel):
    """How large a kernel is: one of SIZES. A large block takes more than half of an SM."""
    if any(2 * takes > has for has, takes in zip(SM[1:3], kernel.takes[1:3])):
        return "large"
    return SIZES[bisect.bisect_left((SMS / 4, SMS, 4 * SMS), kernel.blocks)]


def note_losses(table, kernels, others, alone):
    """Add what each kernel loses that comes while one of others runs; alone: its time by kind."""
    starts = [other.start for other in others]
    for before, kernel in zip(kernels, kernels[1:]):
        came = before.start + before.us
        at = bisect.bisect_right(starts, came) - 1
        length = alone.get((kernel.name, kernel.grid))
        if at < 0 or length is None or kernel.start > starts[-1]:
            continue
        rest = others[at].start + others[at].us - came
        waits = kernel.start - came
        if rest > 5 and waits < rest + 6:  # later ones had not been launched yet
            found = table[room(others[at]), size(kernel)]
            for i, value in enumerate((1, rest, waits, kernel.us - length)):
                found[i] += value


def report_losses(table):
    """Print what kernels lost, by the room that others left and by their own size."""
    for key in itertools.product(ROOMS, SIZES):
        if table[key][0] >= 30:
            count, rest, waits, slower = table[key]
            print(f"beside one that is {key[0]}, with {key[1]} blocks an SM: {count:.0f} kernels, "
                  f"{rest / count:.0f} us left, lost {(waits + slower) / rest:.2f}: "
                  f"{waits / rest:.2f} by waiting")


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
    for kernel in kernels:
        found = sums[kernel.name, kernel.grid]
        found[0] += 1
        found[1] += kernel.us
        found[2] += max(kernel.start - end, 0) if end is not None else 0
        end = max(kernel.start + kernel.us, end or 0)
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
    arguments = parser.parse_args()
    losses = collections.defaultdict(lambda: [0.0] * 4)
    with mps_pairs.daemon("mps-kernels") as (mps, _):
        for pair in arguments.pairs:
            workers = [Worker(name, mps) for name in pair]
            results = {}
            for label, group in (("alone", [0]), ("alone", [1]), ("together", [0, 1])):
                with tempfile.TemporaryDirectory() as folder:
                    found = measure([workers[i] for i in group], arguments.seconds, folder)
                results.update({(label, i): result for i, result in zip(group, found)})
            print("# pair", *pair, flush=True)
            for i, worker in enumerate(workers):
                report(worker, results["alone", i], results["together", i], arguments.rows)
                worker.stop()
                kinds = by_kind(results["alone", i][3], 1)
                note_losses(losses, results["together", i][3], results["together", 1 - i][3],
                            {kind: length for kind, (_, length, _) in kinds.items()})
        print("# all pairs")
        report_losses(losses)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(sys.argv[2])
    else:
        main()
