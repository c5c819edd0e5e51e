#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""What small kernels of many kinds, and two CUDA graphs of programs, cost each other under MPS, on a real GPU.

    python3 mps_mixes.py [SECONDS] > h200-580-mps-mixes.txt

As mps_pairs.py. "mixedN-B" are N elementwise operators in turn, of B thread blocks; "layerN-R" are N operators
of a transformer's layer in turn, of R rows of 1024; "rollout" and "decode" are the graphs of rollout-graph and
decode-graph of tools/corun/programs.py, of 913 and 706 kernels. A pair has the us of a kernel alone, beside the
other one, and the difference, for both. SECONDS (0.3) is the length of a run. Needs PyTorch 2.
"""
import itertools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tools/corun"))
import mps_pairs

WARM_STEPS = 48  # all operators of a mix, several times
OPERATORS = ("sin cos exp log1p tanh sigmoid sqrt rsqrt abs neg floor ceil erf expm1 log2 log10 trunc round "
             "asin acos atan sinh cosh reciprocal").split()
GRAPHS = {"rollout": 913, "decode": 706}  # kernels
MIXED, LAYERS = (1, 4, 12, 24), (1, 4, 8, 16)


def mixes():
    """By name: a function that makes the buffers, and returns one that launches the next kernel."""
    import programs
    import torch
    import torch.nn.functional as F

    def mixed(count, blocks):
        x, out = torch.rand(blocks * 512, device="cuda"), torch.empty(blocks * 512, device="cuda")
        turn = itertools.cycle(OPERATORS[:count])
        return lambda: getattr(torch, next(turn))(x, out=out)

    def layer(count, rows):
        half = dict(device="cuda", dtype=torch.bfloat16)
        x, y, w, b = (torch.randn(*shape, **half) for shape in ((rows, 1024), (rows, 1024), (1024, 1024), (1024,)))
        f, index = x.float(), torch.randint(0, rows, (rows,), device="cuda")
        turn = itertools.cycle([
            lambda: F.layer_norm(x, (1024,), b, b), lambda: x @ w, lambda: F.softmax(x, -1), lambda: F.gelu(x),
            lambda: x.add_(0), lambda: x.t().contiguous(), lambda: x[index], lambda: torch.cat([x, y], -1),
            lambda: f.mean(-1), lambda: f.cumsum(-1), lambda: f.argmax(-1), lambda: x.float(),
            lambda: F.rms_norm(x, (1024,), b), lambda: F.silu(x), lambda: torch.where(x > 0, x, y),
            lambda: f.sum()][:count])
        return lambda: next(turn)()

    def rollout():
        carts = programs.Carts("cuda", 1024, 128)
        return lambda: carts.roll(16)

    def decode():
        return programs.Decoder("cuda", 16, 2048, 1024).decode

    def warm(make):
        def made():
            step = make()
            for _ in range(WARM_STEPS):
                step()
            torch.cuda.synchronize()
            return step
        return made

    found = {"rollout": rollout, "decode": decode}
    for make, name, counts, sizes in ((mixed, "mixed", MIXED, (16, 128)), (layer, "layer", LAYERS, (16, 256))):
        for count, size in itertools.product(counts, sizes):
            found[f"{name}{count}-{size}"] = lambda make=make, count=count, size=size: make(count, size)
    return {name: warm(make) for name, make in found.items()}


def serve():
    """A worker of mps_pairs.py that knows the mixes."""
    import torch
    mps_pairs.kinds, mps_pairs.GRAPH_MS = mixes, 30
    with torch.inference_mode():
        mps_pairs.serve()


def main():
    """All alone, and all pairs."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.3
    mps_pairs.__file__ = __file__  # the workers are of this program
    names = [f"mixed{n}-{b}" for n in MIXED for b in (16, 128)] + [f"layer{n}-{r}" for n in LAYERS for r in (16, 256)]
    names += GRAPHS
    with mps_pairs.daemon("mps-mixes") as (mps, clocks):
        workers = [mps_pairs.Worker(mps) for _ in range(2)]
        for name in names:
            for worker in workers:
                worker.ask("make", name)
                worker.answer()
        alone = {}
        for name in names:
            (us,), *_ = mps_pairs.together(workers[:1], [name], seconds, clocks)
            alone[name] = us / GRAPHS.get(name, 1)
            print(f"alone {name} {alone[name]:.2f} us", flush=True)
        for pair in itertools.combinations_with_replacement(names, 2):
            found, *_ = mps_pairs.together(workers, pair, seconds, clocks)
            beside = [us / GRAPHS.get(name, 1) for name, us in zip(pair, found)]
            print("pair " + "; ".join(f"{name} {alone[name]:.2f} {us:.2f} {us - alone[name]:+.2f}"
                                      for name, us in zip(pair, beside)), flush=True)
        for worker in workers:
            worker.stop()


if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve()
    else:
        main()
