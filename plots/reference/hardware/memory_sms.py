#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""How fast kernels are with a part of the SMs: which part is enough for the memory?

    memory_sms.py >RESULT

Starts an MPS daemon and, for each share of the SMs, a client that times five kinds of kernels:

    copy       a large copy, 16 bytes a thread: half of the traffic is written
    add        the sum of two large tensors
    read       the sum of a large tensor's numbers, which only reads
    cast       float to bf16, an element of a thread at a time
    weights    a product of 32 rows with a weight of 8192 x 8192, another one each time
    gemm       a product of 8192 x 8192 x 8192, which arithmetic bounds

Tensors are larger than the L2. Times are medians of 20, each in us; the last column is the median
SM clock in MHz meanwhile. Needs PyTorch and nvidia-cuda-mps-control; leaves the GPU as it was.
"""

import os
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tools/corun"))

SHARES = (100, 95, 90, 85, 80, 75, 70, 60, 50, 40, 30, 20, 10)
COUNT = 256 << 20


def kernels(torch):
    """Each kind, as a call, and the bytes that it moves."""
    big = torch.randn(COUNT, device="cuda").bfloat16()
    other, out = torch.randn(COUNT, device="cuda").bfloat16(), torch.empty(
        COUNT, device="cuda", dtype=torch.bfloat16)
    single = torch.randn(COUNT // 2, device="cuda").view(-1, 512).t()
    rows = torch.randn(32, 8192, device="cuda").bfloat16()
    weights = [torch.randn(8192, 8192, device="cuda").bfloat16() for _ in range(4)]
    turn = [0]

    def weight():
        turn[0] = (turn[0] + 1) % len(weights)
        return rows @ weights[turn[0]]
    return {"copy": (lambda: out.copy_(big), 4 * COUNT),
            "add": (lambda: torch.add(big, other, out=out), 6 * COUNT),
            "read": (lambda: big.sum(dtype=torch.float32), 2 * COUNT),
            "cast": (lambda: single.to(torch.bfloat16, memory_format=torch.contiguous_format),
                     3 * COUNT),
            "weights": (weight, 2 * 8192 * 8192),
            "gemm": (lambda: weights[0] @ weights[1], 0)}


def time_us(torch, call):
    """The median of 20 calls."""
    times = []
    for _ in range(25):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3)
    return sorted(times[5:])[10]


def client():
    """Time all kinds in this process."""
    import torch

    row = []
    for call, moved in kernels(torch).values():
        us = time_us(torch, call)
        row += [f"{us:.1f}", f"{moved / us / 1e6:.2f}" if moved else "-"]
    print(*row, torch.cuda.clock_rate() if hasattr(torch.cuda, "clock_rate") else "-")


def main():
    """A client for each share."""
    import gpu

    print(f"# {gpu.facts()}")
    print("# share of the SMs in %; us and TB/s of copy, add, read, cast, weights, gemm")
    mps = gpu.Mps()
    try:
        for share in SHARES:
            environment = dict(os.environ, **mps.environment,
                               CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=str(share))
            done = subprocess.run([sys.executable, __file__, "--client"], env=environment,
                                  stdout=subprocess.PIPE, text=True, check=True)
            print(share, done.stdout.strip(), flush=True)
    finally:
        mps.stop()


if __name__ == "__main__":
    client() if "--client" in sys.argv else main()
