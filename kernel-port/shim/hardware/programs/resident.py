# SPDX-License-Identifier: MIT OR GPL-2.0
# GVM_RESIDENT: twelve tensors of 256 MiB, of which two are used again and again, then two others. With UNEQUAL four of
# 128 MiB are used, then one of 640 MiB. With LOWER=GVMCTL the limit is lowered while it runs. Prints rates, and what
# the control files and the card say.
import os
import subprocess
import sys

from common import clock, finish, torch

MIB = 1 << 20
folder = os.path.join(os.environ.get("GVM_SHIM_DIR", "/run/gvm-shim"), str(os.getpid()), "0")


def value(name):
    try:
        with open(os.path.join(folder, name)) as file:
            return int(file.read()) // MIB
    except (OSError, ValueError):
        return None


def say(label, rate=0.0):
    used = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"], capture_output=True,
                          text=True).stdout.strip()
    print("resident %-8s rounds/s %8.1f gmem.current %s MiB gmem.swap.current %s MiB card %s MiB" % (
        label, rate, value("gmem.current"), value("gmem.swap.current"), used), flush=True)


def use(label, hot, seconds):
    seconds *= 0.2 if "SHORT" in os.environ else 1
    start, n = clock(), 0
    while clock() - start < seconds:
        for _ in range(20):
            for t in hot:
                t.add_(1)
        n += 20
    say(label, n / (clock() - start))
    return n


sizes = [128] * 4 + [256] * 4 + [640] * 2 if "UNEQUAL" in os.environ else [256] * 12
tensors = [torch.full((size * MIB // 4,), float(i), device="cuda") for i, size in enumerate(sizes)]
one, two = (tensors[:4], tensors[9:]) if "UNEQUAL" in os.environ else (tensors[:2], tensors[9:11])
torch.cuda.synchronize()
say("filled")
done = []
for label, hot, seconds in (("first", one, 3), ("same", one, 1), ("others", two, 3), ("again", two, 1)):
    done.append((hot, use(label, hot, seconds)))
if "LOWER" in os.environ:
    for limit in ("1G", "4G"):
        out = subprocess.run([os.environ["LOWER"], "set", str(os.getpid()), "gmem.limit.high", limit], capture_output=True,
                             text=True, env={k: v for k, v in os.environ.items() if k != "LD_PRELOAD"})
        print(out.stdout.strip(), out.stderr.strip())
        done.append((one, use("limit", one, 3)))
        done.append((one, use(limit, one, 1)))
# The rounds differ between runs: they are taken back, exactly (floats of whole numbers below 2**24).
for hot, n in done:
    for t in hot:
        t.sub_(n)
say("end")
sums = torch.stack([t.sum(dtype=torch.float64) for t in tensors])
finish([sums] + [t[::4097].clone() for t in tensors])
sys.stdout.flush()
