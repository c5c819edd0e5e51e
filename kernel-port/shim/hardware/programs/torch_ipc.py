# SPDX-License-Identifier: MIT OR GPL-2.0
# CUDA tensors go from process to process by torch.multiprocessing, in both directions, and both change them.
import sys

import torch.multiprocessing as mp

from common import finish, torch

# Segments of 2 MiB and 20 MiB, and one of its own size.
SIZES = [1000, 700_000, 3_000_000, 50_000_000]


def work(to_child, to_parent):
    while True:
        tensor = to_child.get()
        if tensor is None:
            return
        tensor.mul_(3).add_(torch.arange(tensor.numel(), device="cuda", dtype=tensor.dtype))
        own = tensor[: tensor.numel() // 2] * 5 + 1
        torch.cuda.synchronize()
        to_parent.put(own)
        to_child.get()  # the parent has its copy
        del own, tensor


def main():
    mp.set_start_method("spawn")
    to_child, to_parent = mp.Queue(), mp.Queue()
    child = mp.Process(target=work, args=(to_child, to_parent))
    child.start()
    seen = []
    for turn in range(2):
        for size in SIZES:
            tensor = torch.arange(size, device="cuda", dtype=torch.int32) + turn
            beside = torch.ones(size, device="cuda", dtype=torch.int32)
            torch.cuda.synchronize()
            to_child.put(tensor)
            theirs = to_parent.get(timeout=60)
            seen += [tensor.cpu(), theirs.cpu(), (beside + tensor).cpu()]
            theirs.add_(1)
            torch.cuda.synchronize()
            seen.append(theirs.cpu())
            del theirs
            to_child.put(0)
    to_child.put(None)
    child.join(60)
    finish(seen)
    sys.exit(child.exitcode)


if __name__ == "__main__":
    main()
