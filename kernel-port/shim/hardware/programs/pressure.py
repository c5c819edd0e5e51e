# SPDX-License-Identifier: MIT OR GPL-2.0
# The Python package gvm_pressure with PyTorch: the limit is lowered (GVMCTL), gvmd tells, the pool gives.
import os
import subprocess
import time

import gvm_pressure
import gvm_pressure.torch_pool
from common import finish, torch

MIB = 1 << 20
folder = os.path.join(os.environ["GVM_SHIM_DIR"], str(os.getpid()), "0")


def current():
    with open(os.path.join(folder, "gmem.current")) as file:
        return int(file.read()) // MIB


def limit(text):
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    out = subprocess.run([os.environ["GVMCTL"], "set", str(os.getpid()), "gmem.limit.high", text], capture_output=True,
                         text=True, env=env)
    assert not out.returncode, out.stderr


def until(true, seconds=5):
    start = time.perf_counter()
    while not true() and time.perf_counter() - start < seconds:
        time.sleep(0.001)
    return (time.perf_counter() - start) * 1000 if true() else float("nan")


def fill():
    tensors = [torch.full((64 * MIB,), float(i), device="cuda") for i in range(8)]
    del tensors[2:]
    torch.cuda.synchronize()
    return tensors


events = []
pool = gvm_pressure.torch_pool.Pool(0)
kept = fill()
until(lambda: os.path.exists(os.path.join(folder, "gmem.current")))
print("pressure filled: reserved %d MiB, idle %d MiB, gmem.current %d MiB" % (
    torch.cuda.memory_reserved() // MIB, pool.idle_bytes() // MIB, current()), flush=True)


def give(event):
    given = pool.give(event)
    events.append((event, given))
    return given


listener = gvm_pressure.Listener(give, gpu=0, retry=0.1)
time.sleep(0.5)
limit("1G")
ms = until(lambda: torch.cuda.memory_reserved() <= 1024 * MIB)
files_ms = until(lambda: current() <= 1024)
event, given = events[0] if events else (None, 0)
print("pressure at once: asked %s MiB given %d MiB after %.1f ms, reserved %d MiB, gmem.current %d MiB after %.1f ms more" % (
    event and event.target_bytes // MIB, given // MIB, ms, torch.cuda.memory_reserved() // MIB, current(), files_ms), flush=True)
listener.stop()

limit("8G")
listener = gvm_pressure.Listener(pool.ask, gpu=0, retry=0.1)
more = fill()
time.sleep(0.5)
before = torch.cuda.memory_reserved()
limit("1280M")
ms = until(lambda: listener.events)
held = torch.cuda.memory_reserved()
given = pool.at_step()
print("pressure at step: heard after %.1f ms, reserved %d -> %d MiB without a step, given at the step %d MiB, reserved %d MiB" % (
    ms, before // MIB, held // MIB, given // MIB, torch.cuda.memory_reserved() // MIB), flush=True)
listener.stop()
finish(kept + more)
