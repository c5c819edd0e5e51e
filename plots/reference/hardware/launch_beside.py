#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""What makes launches slow: how long the host takes to launch small kernels, alone and beside others.

    launch_beside.py >RESULT

This process launches 200 eager operations at a time and waits for them; only the launching counts.
Beside it runs one of these at a time, in turn, half a second each, over and over, since the speed
of a host's processors changes from second to second:

    nothing     all others are stopped
    spin-N      N processes that compute on the CPU
    memory-N    N processes that copy memory of the CPU
    kernels     a process with long kernels on the GPU, which launches once in 50 ms
    launches    a process that launches small kernels as fast as it can
    copies      a process that copies 4 MB over the link, to and fro

A row has the median and the tenth and ninetieth percentile of the time of a launch, in us, and the
median of the ratio to "nothing" in the same turn. Needs PyTorch and numpy.
"""

import os
import signal
import statistics
import subprocess
import sys
import time

TURN_S, TURNS, LAUNCHES = 0.5, 14, 200


def spin():
    """Compute."""
    value = 1
    while True:
        value = value * 1103515245 + 12345 & 0xffffffff


def copy_memory():
    """Copy 256 MB again and again."""
    import numpy

    source = numpy.ones(32 << 20)
    target = numpy.empty_like(source)
    while True:
        target[:] = source


def long_kernels():
    """Products of 50 ms."""
    import torch

    a = torch.randn(16384, 16384, device="cuda", dtype=torch.bfloat16)
    while True:
        for _ in range(4):
            a @ a
        torch.cuda.synchronize()


def launch():
    """Launch small kernels."""
    import torch

    x = torch.zeros(1024, device="cuda")
    while True:
        for _ in range(LAUNCHES):
            x.add_(1)
        torch.cuda.synchronize()


def pinned_copies():
    """Copies over the link, 4 MB each."""
    import torch

    host = torch.empty(4 << 20, dtype=torch.uint8).pin_memory()
    device = torch.empty_like(host, device="cuda")
    while True:
        device.copy_(host, non_blocking=True)
        host.copy_(device, non_blocking=True)
        torch.cuda.synchronize()


WORK = {"spin": spin, "memory": copy_memory, "kernels": long_kernels, "launches": launch,
        "copies": pinned_copies}
CONDITIONS = (("nothing", []), ("spin-1", ["spin"]), ("spin-8", ["spin"] * 8),
              ("spin-15", ["spin"] * 15), ("memory-8", ["memory"] * 8), ("kernels", ["kernels"]),
              ("launches", ["launches"]), ("copies", ["copies"]))


def start(name):
    """A process that does one kind of work."""
    return subprocess.Popen([sys.executable, __file__, name])


def sample(torch, x):
    """The time of a launch, in us."""
    begin = time.perf_counter_ns()
    for _ in range(LAUNCHES):
        x.add_(1)
    end = time.perf_counter_ns()
    torch.cuda.synchronize()
    return (end - begin) / LAUNCHES / 1e3


def turn(torch, x, children, seconds):
    """The samples of half a second beside some children."""
    for child in children:
        child.send_signal(signal.SIGCONT)
    time.sleep(0.05)
    end, samples = time.perf_counter() + seconds, []
    while time.perf_counter() < end:
        samples.append(sample(torch, x))
    for child in children:
        child.send_signal(signal.SIGSTOP)
    torch.cuda.synchronize()
    return samples


def main():
    """All conditions, turn by turn."""
    import torch

    x = torch.zeros(1024, device="cuda")
    sample(torch, x)
    groups = [(name, [start(kind) for kind in kinds]) for name, kinds in CONDITIONS]
    time.sleep(12)
    for _, children in groups:
        for child in children:
            child.send_signal(signal.SIGSTOP)
    time.sleep(1)
    found = {name: [] for name, _ in groups}
    ratios = {name: [] for name, _ in groups}
    for _ in range(TURNS):
        medians = {}
        for name, children in groups:
            samples = turn(torch, x, children, TURN_S)
            found[name] += samples
            medians[name] = statistics.median(samples)
        for name, median in medians.items():
            ratios[name].append(median / medians["nothing"])
    print(f"# {torch.cuda.get_device_name()}, {os.cpu_count()} processors, "
          f"torch {torch.__version__}")
    print("# beside; us of a launch: median, 10 %, 90 %; median ratio to nothing, least, most")
    for name, values in found.items():
        values.sort()
        print(f"{name} {statistics.median(values):.2f} {values[len(values) // 10]:.2f} "
              f"{values[len(values) * 9 // 10]:.2f}  {statistics.median(ratios[name]):.2f} "
              f"{min(ratios[name]):.2f} {max(ratios[name]):.2f}")
    for _, children in groups:
        for child in children:
            child.kill()


if __name__ == "__main__":
    WORK[sys.argv[1]]() if len(sys.argv) > 1 else main()
