# SPDX-License-Identifier: MIT OR GPL-2.0
# What the PyTorch programs share: seeds, deterministic algorithms, a hash of what they computed.
import gc
import hashlib
import os
import sys
import time

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
import torch

torch.manual_seed(7)
torch.use_deterministic_algorithms(True)
torch.backends.cudnn.benchmark = False
BATCH = int(os.environ.get("BATCH", "0"))
STEPS = int(os.environ.get("STEPS", "0"))


def steps(default):
    return STEPS or default


def finish(tensors, work=None, seconds=None):
    digest = hashlib.sha256()
    for tensor in tensors:
        tensor = tensor.detach().cpu().reshape(-1)
        digest.update(tensor.view(torch.uint8).numpy().tobytes())
    if seconds and "REPEAT" not in os.environ:
        print("rate %.4f" % (work / seconds))
    print("hash", digest.hexdigest()[:32], flush=True)


def clock():
    torch.cuda.synchronize()
    return time.perf_counter()


# This thread has a processor of its own, without the one that shares its core. All others keep off both.
def own_processor():
    allowed = sorted(os.sched_getaffinity(0))
    mine = allowed[-1]
    core = {mine}
    try:
        with open("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list" % mine) as file:
            for part in file.read().strip().split(","):
                first, _, last = part.partition("-")
                core.update(range(int(first), int(last or first) + 1))
    except OSError:
        pass
    for thread in map(int, os.listdir("/proc/self/task")):
        os.sched_setaffinity(thread, {mine} if thread == os.getpid() else set(allowed) - core)


# For alternate.py: each line "WARM STEPS" of the input is a turn. Returns how often step() was called.
def take_turns(step):
    n = 0

    def many(count):
        nonlocal n
        for _ in range(count):
            step(n)
            n += 1

    many(20)
    torch.cuda.synchronize()
    allowed = os.sched_getaffinity(0)
    own_processor()
    gc.collect()
    gc.freeze()
    print("ready", flush=True)
    for line in sys.stdin:
        warm, timed = map(int, line.split())
        many(warm)
        torch.cuda.synchronize()
        clocks = (time.perf_counter_ns, time.thread_time_ns, time.process_time_ns)
        before = [clock() for clock in clocks]
        many(timed)
        torch.cuda.synchronize()
        print("turn", *[clock() - start for clock, start in zip(clocks, before)], flush=True)
    os.sched_setaffinity(0, allowed)
    return n


# Call step(i) a number of times, or from START_AT on for SECONDS, beside another program. Returns how
# often, and how long it took.
def loop(step, default):
    if "ALTERNATE" in os.environ:
        return take_turns(step), None
    seconds = float(os.environ.get("SECONDS", "0"))
    n = 0
    for turn in range(0 if seconds else int(os.environ.get("REPEAT", "1"))):
        start = clock()
        for n in range(steps(default)):
            step(n)
        taken = clock() - start
        if "REPEAT" in os.environ:
            print("rate %.4f" % (steps(default) / taken))
    if not seconds:
        return n + 1, taken
    while time.time() < float(os.environ.get("START_AT", "0")):
        time.sleep(0.01)
    start = clock()
    while clock() - start < seconds:
        for _ in range(5):
            step(n)
            n += 1
    return n, clock() - start
