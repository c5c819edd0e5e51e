# SPDX-License-Identifier: MIT OR GPL-2.0
# What the PyTorch programs share: seeds, deterministic algorithms, a hash of what they computed.
import hashlib
import os
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


# Call step(i) a number of times, or from START_AT on for SECONDS, beside another program. Returns how
# often, and how long it took.
def loop(step, default):
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
