#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""What a step costs the host whose number of tokens it has not had before.

    ./new_shapes.py

A matrix product in PyTorch is a call of cuBLAS. For each new shape cuBLAS chooses a kernel, and
it remembers its choice. A server's steps of decodes have few numbers of tokens. A step with
a prompt nearly always has a new one.

"product": host time of one product, for the first, the second and the third call with
a number of tokens; medians over all numbers. "step": a whole step of tools/corun's server, likewise: its
host time to launch, and its time on the GPU by events. "decodes" is a step with a number of tokens
that was had many times, taken between the others.
"""
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 3, "tools", "corun"))
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import torch.nn.functional as F

from llama import CONFIGS, Llama, MAX_SEQUENCES, PAGE, Step, TABLE_WIDTH

CALLS = 4


def median(values):
    """The middle one."""
    return sorted(values)[len(values) // 2]


def host_us(call):
    """Host time of a call, with an idle GPU before and after it."""
    torch.cuda.synchronize()
    begin = time.perf_counter_ns()
    call()
    took = time.perf_counter_ns() - begin
    torch.cuda.synchronize()
    return took / 1e3


def products(numbers):
    """Each product of a layer by itself."""
    c = CONFIGS["3b"]
    width = (c["heads"] + 2 * c["kv_heads"]) * c["d"]
    shapes = {"qkv": (c["hidden"], width), "o": (c["heads"] * c["d"], c["hidden"]),
              "gate_up": (c["hidden"], 2 * c["ffn"]), "down": (c["ffn"], c["hidden"]),
              "head": (c["hidden"], c["vocab"])}
    for name, (k, n) in shapes.items():
        weight = torch.zeros(n, k, device="cuda", dtype=torch.bfloat16)
        inputs = torch.zeros(2100, k, device="cuda", dtype=torch.bfloat16)
        for _ in range(50):
            F.linear(inputs[:32], weight)
        took = [[] for _ in range(CALLS)]
        for tokens in numbers if name != "head" else range(33, 33 + 64):
            x = inputs[:tokens]
            for call in range(CALLS):
                took[call].append(host_us(lambda: F.linear(x, weight)))
        print(f"product {name:8} first {median(took[0]):6.1f} us  second {median(took[1]):6.1f}  "
              f"third {median(took[2]):6.1f}  largest of the first {max(took[0]):7.1f}", flush=True)


class Steps:
    """Steps of the server, each timed."""

    def __init__(self):
        self.model = Llama("3b", 200000 // PAGE)
        self.input = Step(True)
        self.begin, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.prompt = np.zeros(2 * MAX_SEQUENCES * PAGE, dtype=np.int32)
        for row in range(MAX_SEQUENCES):
            self.model.host_table[row] = (np.arange(TABLE_WIDTH) * 7 + row * 13) % self.model.blocks

    def us(self, decodes, tokens):
        """(host, GPU) times of a step of so many sequences that decode, and a prompt of so many tokens."""
        chunks = [(MAX_SEQUENCES - 1, 0, self.prompt[:tokens])] if tokens else []
        self.input.fill(self.model.host_table, [(row, 300, 5) for row in range(decodes)], chunks)

        def launch():
            self.begin.record()
            self.model.run(self.input)
            self.end.record()

        took = host_us(launch)
        return took, self.begin.elapsed_time(self.end) * 1e3


def steps(numbers):
    """Whole steps."""
    model = Steps()
    for tokens in (0, 40, 400, 1600, 2000):  # kernels of Triton are compiled
        for decodes in (1, 16):
            model.us(decodes, tokens)
    for _ in range(50):
        model.us(16, 0)
    took = [([], []) for _ in range(CALLS)]
    known = ([], [])
    for tokens in numbers:
        for call in range(CALLS):
            for side, value in zip(took[call], model.us(16, tokens)):
                side.append(value)
        for side, value in zip(known, model.us(16, 0)):
            side.append(value)
    for call, name in enumerate(("first", "second", "third", "fourth")):
        print(f"step {name:8} launching {median(took[call][0]):7.0f} us  GPU {median(took[call][1]):7.0f} us", flush=True)
    print(f"step decodes  launching {median(known[0]):7.0f} us  GPU {median(known[1]):7.0f} us", flush=True)
    differences = [a - b for a, b in zip(took[0][0], took[1][0])]
    print(f"first less second, host: median {median(differences):.0f} us, "
          f"quarters {sorted(differences)[len(differences) // 4]:.0f} and {sorted(differences)[3 * len(differences) // 4]:.0f}")


def main():
    """Numbers of tokens that are no multiples of 8, in a random order."""
    print(torch.cuda.get_device_name(), torch.__version__, "cuBLAS of CUDA", torch.version.cuda)
    numbers = [n for n in range(20, 2030) if n % 8]
    random.Random(1).shuffle(numbers)
    with torch.inference_mode():
        products(numbers[:100])
        steps(numbers[100:260])
        steps(sorted(n for n in range(16, 700, 9) if n % 8)[:60])


if __name__ == "__main__":
    main()
