# SPDX-License-Identifier: MIT OR GPL-2.0
# Two processes of PyTorch, a card each, which exchange tensors by NCCL: sums, broadcasts and direct sends.
import os
import sys

import torch.multiprocessing as mp

from common import finish, torch

SIZES = [1000, 700_000, 3_000_000, 50_000_000]


def exchange(rank, size, turn, seen):
    own = torch.arange(size, device="cuda", dtype=torch.int32) * (rank + 3) + turn
    torch.distributed.all_reduce(own)
    seen.append(own.cpu())
    torch.distributed.broadcast(own.mul_(rank + 2), src=turn % 2)
    seen.append(own.cpu())
    if rank == turn % 2:
        torch.distributed.send(own.add_(7), dst=1 - rank)
    else:
        torch.distributed.recv(own, src=1 - rank)
    every = [torch.empty_like(own) for _ in range(2)]
    torch.distributed.all_gather(every, own)
    seen += [e.cpu() for e in every]


def work(rank, port):
    torch.cuda.set_device(rank)
    torch.distributed.init_process_group("nccl", init_method="tcp://127.0.0.1:%d" % port, rank=rank, world_size=2)
    seen = []
    for turn in range(4):
        for size in SIZES:
            exchange(rank, size, turn, seen)
    torch.distributed.destroy_process_group()
    if rank == 0:
        finish(seen)


if __name__ == "__main__":
    mp.set_start_method("spawn")
    port = 20000 + os.getpid() % 20000
    ranks = [mp.Process(target=work, args=(rank, port)) for rank in range(2)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join(100)
    sys.exit(max(rank.exitcode or 0 for rank in ranks))
