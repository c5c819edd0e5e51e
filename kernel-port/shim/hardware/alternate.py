#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# What the shim costs an application whose pace the host sets: alternate.py PROGRAMS SHIM OUT
#
# A host may be half as fast a minute later, or in another process. So no process is timed from start to
# end. Groups of four live side by side: two without the shim, one that is counted, one with managed memory. All wait;
# one at a time makes a turn of some steps, about 0.1 s, the four of a group one after the other, in random order.
# A ratio is of turns of one group and one sweep, so all have the same state of the machine. It is over the mean of the two
# without the shim.
#
# What differs between processes for as long as they live, as the place of their memory, stays in a group's
# median. So the groups are what is counted: the interval is Student's, of 95 %, of their means. The second process
# without the shim is a control, and its ratio is over the first one: it has to be 1 within its interval, which
# says how small a difference can be seen.
#
# The launching thread has a processor of its own, the same for all processes. Addresses stay random: the shim moves
# everything behind it, and one fixed layout would be measured instead of it.
#
# WORKLOADS names what runs (below), QUARTETS is how many groups, SWEEPS multiplies the sweeps. OUT/turns.txt has every turn;
# "alternate.py tell OUT/turns.txt" makes the table again.
import math
import os
import random
import statistics
import subprocess
import sys
import time

KINDS = {"plain": None, "control": None, "counted": {"GVM_SHIM_MANAGED": "0"}, "managed": {}}
# Program, its variables, steps of a turn that are not timed, and that are, sweeps. The first needs more sweeps: it is
# the host's, and a host changes from turn to turn.
WORKLOADS = {
    "infer": ("torch_infer", {}, 3, 9, 45),
    "infer_large": ("torch_infer", {"BATCH": "256"}, 1, 4, 12),
    "train": ("torch_train", {}, 3, 30, 10),
    "graphs": ("torch_graphs", {}, 10, 300, 8),
    "triton": ("triton_rows", {}, 20, 1000, 10),
    "streams": ("torch_streams", {}, 5, 50, 12),
}
QUANTITIES = ["wall", "thread", "process"]
# Student's t for a two-sided interval of 95 %, by degrees of freedom.
STUDENT = [None, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
           2.131]
BOUND = 0.02


class Process:
    def __init__(self, programs, shim, out, workload, group, kind):
        program, variables, self.warm, self.steps, _ = WORKLOADS[workload]
        self.name = "%s-%d-%s" % (workload, group, kind)
        env = dict(os.environ, ALTERNATE="1", OMP_NUM_THREADS="1", **variables)
        self.log = None
        if KINDS[kind] is not None:
            self.log = os.path.join(out, self.name + ".shim")
            open(self.log, "w").close()
            env.update(KINDS[kind], LD_PRELOAD=shim, GVM_SHIM_LOG=self.log)
        self.errors = open(os.path.join(out, self.name + ".err"), "w")
        self.child = subprocess.Popen(["python3", os.path.join(programs, program + ".py")], env=env, cwd=programs,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)

    def answer(self, word):
        line = self.child.stdout.readline().split()
        if not line or line[0] != word:
            raise RuntimeError("%s said %r, not %s" % (self.name, " ".join(line), word))
        return line[1:]

    # A library that cannot be preloaded is a mere warning of the loader, and plain would be compared with plain.
    def wait_until_ready(self):
        self.answer("ready")
        if self.log and not os.path.getsize(self.log):
            raise RuntimeError("%s: %s says nothing, so the shim is not in the process" % (self.name, self.log))

    # ns a step: on the wall clock, of the launching thread, of the process.
    def turn(self):
        self.child.stdin.write("%d %d\n" % (self.warm, self.steps))
        self.child.stdin.flush()
        return [int(x) / self.steps for x in self.answer("turn")]

    def end(self):
        result = self.answer("hash")[0]
        if self.child.wait(30):
            raise RuntimeError("%s ended with %d" % (self.name, self.child.returncode))
        return result


# All processes of a workload start at once, and each makes a turn in each sweep. Yields lines of turns.txt.
def measure(programs, shim, out, workload, groups, sweeps):
    processes = [{kind: Process(programs, shim, out, workload, group, kind) for kind in KINDS} for group in range(groups)]
    everyone = [process for group in processes for process in group.values()]
    try:
        for process in everyone:
            process.wait_until_ready()
        for sweep in range(sweeps):
            for number, group in enumerate(processes):
                for kind in random.sample(list(group), len(group)):
                    yield "turn %s %d %d %s %s" % (workload, sweep, number, kind,
                                                   " ".join("%.0f" % x for x in group[kind].turn()))
        for process in everyone:
            process.child.stdin.close()
        hashes = {process.end() for process in everyone}
        yield "same %s: %s" % (workload, "all %d processes computed the same" % len(everyone) if len(hashes) == 1 else
                               "DIFFERS: %d results" % len(hashes))
    finally:
        for process in everyone:
            process.child.kill()
            process.child.wait()
            process.errors.close()


# Times by workload, quantity, group and kind: a list with a time for each sweep.
def read_turns(lines):
    times = {}
    for line in lines:
        if not line.startswith("turn "):
            continue
        _, workload, _, group, kind, *values = line.split()
        for quantity, value in zip(QUANTITIES, values):
            times.setdefault(workload, {}).setdefault(quantity, {}).setdefault(int(group), {}).setdefault(
                kind, []).append(float(value))
    return times


# The ratio of speeds, @kind over what has no shim, and its interval. @groups: times by kind and sweep.
def ratio(groups, kind):
    logs = []
    for times in groups:
        bases = times["plain"]
        if kind != "control":
            bases = [math.sqrt(a * b) for a, b in zip(times["plain"], times["control"])]
        logs.append(statistics.median(math.log(base / other) for base, other in zip(bases, times[kind])))
    middle = statistics.mean(logs)
    reach = STUDENT[len(logs) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(middle), math.exp(middle - reach), math.exp(middle + reach)


def verdict(low, high):
    if 1 - BOUND <= low and high <= 1 + BOUND:
        return "within 2 %"
    if high < 1 - BOUND:
        return "slower by more than 2 %"
    if low > 1 + BOUND:
        return "faster by more than 2 %"
    return "cannot tell"


def tell(times):
    for workload, quantities in times.items():
        for quantity, groups in quantities.items():
            groups = list(groups.values())
            plain = [x for group in groups for x in group["plain"] + group["control"]]
            yield "alternate %-11s %-7s %d groups of %d sweeps; plain %.3f ms a step, from %.3f to %.3f" % (
                workload, quantity, len(groups), len(groups[0]["plain"]), statistics.median(plain) / 1e6,
                min(plain) / 1e6, max(plain) / 1e6)
            for kind in list(KINDS)[1:]:
                middle, low, high = ratio(groups, kind)
                yield "alternate %-11s %-7s %-8s %.4f (%.4f to %.4f) %s" % (workload, quantity, kind, middle, low, high,
                                                                         verdict(low, high))


# What keeps processes apart for as long as they live, and what a turn does: standard deviations, in %.
def spread(times):
    for workload, quantities in times.items():
        own, within = [], []
        for group in quantities["wall"].values():
            logs = [math.log(a / b) for a, b in zip(group["plain"], group["control"])]
            own.append(statistics.median(logs))
            within.append(statistics.stdev(logs))
        yield "spread %-11s plain over its control: groups %.2f %%, turns within a group %.2f %%" % (
            workload, 100 * statistics.stdev(own), 100 * statistics.median(within))


def main():
    if sys.argv[1] == "tell":
        with open(sys.argv[2]) as file:
            times = read_turns(file)
        print("\n".join([*tell(times), *spread(times)]))
        return
    programs, shim, out = (os.path.abspath(a) for a in sys.argv[1:4])
    os.makedirs(out, exist_ok=True)
    groups = int(os.environ.get("QUARTETS", "6"))
    factor = float(os.environ.get("SWEEPS", "1"))
    for workload in (os.environ.get("WORKLOADS") or " ".join(WORKLOADS)).split():
        start = time.time()
        lines = []
        with open(os.path.join(out, "turns.txt"), "a") as file:
            sweeps = max(2, round(factor * WORKLOADS[workload][-1]))
            for line in measure(programs, shim, out, workload, groups, sweeps):
                print(line, file=file, flush=True)
                lines.append(line)
        times = read_turns(lines)
        for line in [lines[-1], *tell(times), *spread(times)]:
            print(line, flush=True)
        print("# %s took %.0f s" % (workload, time.time() - start), flush=True)


if __name__ == "__main__":
    main()
