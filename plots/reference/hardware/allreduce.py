#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""All-reduces between the GPUs of one host, as tensor parallelism makes them.

    allreduce.py >RESULT

Sums of bf16 by NCCL over all GPUs that there are. Sizes are those of a step's activations: tokens
of 4096 elements, as in a layer of Llama-3.1-8B. "graph": 40 sums in a CUDA graph, so no launch is
waited for; "eager": 40 calls. Times are of one sum, the median of seven. Needs PyTorch 2.
"""
import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

ELEMENTS = 4096
SUMS = 40


def median_us(run):
    """Of seven runs of SUMS sums, after one that warms up."""
    times = []
    for _ in range(8):
        dist.barrier()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e6 / SUMS)
    return sorted(times[1:])[3]


def measure(rank, count):
    """One process for each GPU."""
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29577", NCCL_NVLS_ENABLE="0")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=count, device_id=torch.device("cuda", rank))
    for tokens in (1, 4, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192):
        data = torch.zeros(tokens * ELEMENTS, device="cuda", dtype=torch.bfloat16)

        def eager(data=data):
            for _ in range(SUMS):
                dist.all_reduce(data)

        eager()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            eager()
        in_graph, alone = median_us(graph.replay), median_us(eager)
        if rank == 0:
            print(f"allreduce gpus {count} tokens {tokens} bytes {data.numel() * 2} graph {in_graph:.2f} "
                  f"eager {alone:.2f}", flush=True)
    os._exit(0)  # the end of NCCL's group waits for ever if a graph has captured its sums


def main():
    count = torch.cuda.device_count()
    if count < 2:
        sys.exit("allreduce.py: fewer than two GPUs")
    print("#", count, torch.cuda.get_device_name(), "torch", torch.__version__, "NCCL",
          ".".join(map(str, torch.cuda.nccl.version())), flush=True)
    mp.spawn(measure, (count,), nprocs=count)


if __name__ == "__main__":
    main()
