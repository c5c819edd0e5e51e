#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""What kernels of one kind do to kernels of another under MPS: speeds of pairs, on a real GPU.

    python3 mps_pairs.py [SECONDS] [--small] > h200-580-mps-pairs.txt
    python3 mps_pairs.py [SECONDS] --limits 50,100 --limits 25,100 > h200-580-mps-limits.txt

Each process replays a CUDA graph of equal kernels, back to back, for SECONDS (0.7). The speed of a
kind beside others is its time alone over its time then, with the same limit. First without
limits, then with CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50 for both. --small: only small kernels
beside others, without limits. --limits A,B: a client with A % of the SMs beside one with B % (100:
no limit), with each kind beside each. The clock is sampled meanwhile; nvidia-smi's power is a mean
over a second, so of more than one row. Needs PyTorch 2; starts an MPS daemon of its own and ends
it.
"""
import argparse
import contextlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time

GRAPH_MS = 4.0


def kinds():
    """By name: a function that makes the buffers, and returns one that launches a kernel."""
    import torch
    import torch.nn.functional as F
    half = dict(device="cuda", dtype=torch.bfloat16)
    rand = lambda *shape: torch.randn(*shape, **half)

    def product(m, n, k, weights):
        x, ws, out = rand(m, k), [rand(k, n) for _ in range(weights)], torch.empty(m, n, **half)
        turn = itertools.count()
        return lambda: torch.mm(x, ws[next(turn) % weights], out=out)

    def elements(count, buffers):
        xs = [rand(count) for _ in range(buffers)]
        turn = itertools.count()
        return lambda: xs[next(turn) % buffers].mul_(1.0)

    def attention(batch, heads, tokens, dim):
        q, k, v = (rand(batch, heads, tokens, dim) for _ in range(3))
        return lambda: F.scaled_dot_product_attention(q, k, v)

    def convolution(batch, channels, size):
        x = torch.randn(batch, channels, size, size, device="cuda", dtype=torch.float16).to(
            memory_format=torch.channels_last)
        w = torch.randn(channels, channels, 3, 3, device="cuda", dtype=torch.float16).to(
            memory_format=torch.channels_last)
        torch.backends.cudnn.benchmark = True
        return lambda: F.conv2d(x, w, padding=1)

    def norm(rows, width):
        x, w = rand(rows, width), rand(width)
        return lambda: F.rms_norm(x, (width,), w)

    return {
        "product-8192": lambda: product(8192, 8192, 8192, 1),
        "product-1024": lambda: product(1024, 1280, 5120, 4),
        "prefill-256": lambda: product(256, 16384, 3072, 8),
        "decode-32": lambda: product(32, 16384, 3072, 16),
        "decode-32-small": lambda: product(32, 3072, 3072, 64),
        "attention-4096": lambda: attention(2, 10, 4096, 64),
        "convolution-64": lambda: convolution(2, 640, 64),
        "elements-128M": lambda: elements(64 << 20, 4),
        "elements-8M": lambda: elements(4 << 20, 1),
        "norm-32": lambda: norm(32, 3072),
        "norm-128": lambda: norm(128, 3072),
        "norm-512": lambda: norm(512, 3072),
        "norm-2048": lambda: norm(2048, 3072),
        "blocks-2": lambda: elements(2 << 10, 1),  # of 128 threads, 8 elements each
        "blocks-8": lambda: elements(8 << 10, 1),
    }


def serve():
    """A worker: answers commands, one JSON line each."""
    import torch
    made, table = {}, kinds()  # graphs, kernels in each, and what holds their buffers
    stream = torch.cuda.Stream()

    def make(name):
        with torch.cuda.stream(stream), torch.no_grad():
            step = table[name]()
            for _ in range(8):
                step()
            stream.synchronize()
            start = time.perf_counter()
            for _ in range(50):
                step()
            stream.synchronize()
            each_ms = (time.perf_counter() - start) * 1e3 / 50
            count = max(16, int(GRAPH_MS / max(each_ms, 0.002)) // 16 * 16) if each_ms < 0.3 else \
                max(1, int(GRAPH_MS / each_ms))
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=stream):
                for _ in range(count):
                    step()
            graph.replay()
            stream.synchronize()
        made[name] = (graph, count, step)

    def run(name, start, end):
        graph, count, _ = made[name]
        while time.monotonic() < start:
            pass
        done, events, warm = 0, [], None
        with torch.cuda.stream(stream):
            while time.monotonic() < end or (done < 1 and time.monotonic() < end + 5):
                graph.replay()
                event = torch.cuda.Event()
                event.record(stream)
                events.append(event)
                if len(events) > 2:
                    events.pop(0).synchronize()
                    now = time.monotonic()
                    if warm is None and now > start + 0.1:
                        warm, done = now, 0
                    else:
                        done += 1
                        last = now
        stream.synchronize()
        return dict(us=(last - warm) * 1e6 / max(done * count, 1), graphs=done)

    print("@" + json.dumps("ready"), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        if command[0] == "make":
            make(command[1])
            answer = made[command[1]][1]
        elif command[0] == "run":
            answer = run(*command[1:])
        else:
            break
        print("@" + json.dumps(answer), flush=True)


class Worker:
    """A client of the MPS server: this program with --serve."""

    def __init__(self, environment):
        self.child = subprocess.Popen([sys.executable, __file__, "--serve"], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True, env=dict(os.environ, **environment))
        self.answer()

    def ask(self, *command):
        """Send a command."""
        self.child.stdin.write(json.dumps(command) + "\n")
        self.child.stdin.flush()

    def answer(self):
        """Wait for the answer to the last one."""
        for line in self.child.stdout:
            if line.startswith("@"):
                return json.loads(line[1:])
        raise SystemExit("mps_pairs: a worker has ended")

    def stop(self):
        """End the process."""
        self.child.stdin.close()
        self.child.wait(30)


class Clocks:
    """The SM clock and the power, sampled every 50 ms."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "clocks")
        self.child = subprocess.Popen(["nvidia-smi", "--query-gpu=clocks.sm,power.draw",
                                       "--format=csv,noheader,nounits", "-lms", "50"],
                                      stdout=open(self.path, "w"))

    def take(self, since):
        """Means of the samples from line number since on."""
        rows = [r.split(",") for r in open(self.path).read().splitlines()[since:] if r.count(",") == 1]
        if not rows:
            return 0, 0
        return sum(float(r[0]) for r in rows) / len(rows), sum(float(r[1]) for r in rows) / len(rows)

    def lines(self):
        return len(open(self.path).read().splitlines())


def together(workers, names, seconds, clocks):
    """Each worker runs its kind. Returns us a kernel of each, MHz and W."""
    start = time.monotonic() + 0.05
    since = clocks.lines()
    for worker, name in zip(workers, names):
        worker.ask("run", name, start, start + seconds)
    results = [worker.answer() for worker, _ in zip(workers, names)]
    mhz, watts = clocks.take(since + 3)
    return [r["us"] for r in results], mhz, watts


@contextlib.contextmanager
def daemon(name):
    """An MPS daemon of our own: the environment of its clients, and the clocks meanwhile."""
    with tempfile.TemporaryDirectory(prefix=name) as folder:
        mps = dict(CUDA_MPS_PIPE_DIRECTORY=folder + "/pipe", CUDA_MPS_LOG_DIRECTORY=folder + "/log")
        for path in mps.values():
            os.makedirs(path)
        environment = dict(os.environ, **mps)
        subprocess.run(["nvidia-cuda-mps-control", "-d"], check=True, env=environment)
        time.sleep(1)
        clocks = Clocks(folder)
        try:
            yield mps, clocks
        finally:
            clocks.child.terminate()
            subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True, env=environment)


def clients(limits, mps):
    """A worker for each limit, in percent of the SMs; None: no limit."""
    return [Worker(dict(mps, **({"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(p)} if p else {})))
            for p in limits]


def make(workers, names):
    """Each worker makes the graphs of all kinds."""
    for name in names:
        for worker in workers:
            worker.ask("make", name)
        for worker in workers:
            worker.answer()


def measure_alone(worker, names, seconds, clocks, note=""):
    """The time of a kernel of each kind alone, by name; prints a row for each."""
    alone = {}
    for name in names:
        (us,), mhz, watts = together([worker], [name], seconds, clocks)
        alone[name] = us
        print(f"alone{note} {name} {us:.2f} us {mhz:.0f} MHz {watts:.0f} W", flush=True)
    return alone


def measure_pair(workers, pair, alone, seconds, clocks):
    """Print the speeds of two kinds beside each other; alone: their times alone."""
    us, mhz, watts = together(workers, pair, seconds, clocks)
    speeds = " ".join(f"{a / t:.3f}" for a, t in zip(alone, us))
    print("pair", *pair, "speeds", speeds, f"{mhz:.0f} MHz {watts:.0f} W", flush=True)


def measure(seconds, only_small, mps, clocks):
    """Run the kinds alone and beside each other, and print a row for each run."""
    names, small = NAMES, SMALL if only_small else [name for name in SMALL if name not in NAMES]
    for limits in ((None, None, None),) if only_small else ((None, None, None), (50, 50)):
        workers = clients(limits, mps)
        make(workers, dict.fromkeys(names + small))
        print(f"# limits {limits}", flush=True)
        alone = measure_alone(workers[0], dict.fromkeys(names + small), seconds, clocks)
        pairs = [] if only_small else list(itertools.combinations_with_replacement(names, 2))
        if limits[0] is None:
            pairs += itertools.product(small, names[:-1])
        for pair in pairs:
            measure_pair(workers[:2], pair, [alone[n] for n in pair], seconds, clocks)
        for trio in () if only_small or limits[0] else TRIOS:
            us, mhz, watts = together(workers, trio, seconds, clocks)
            print("trio", *trio, "speeds",
                  *(f"{alone[n] / u:.3f}" for n, u in zip(trio, us)),
                  f"{mhz:.0f} MHz {watts:.0f} W", flush=True)
        for worker in workers:
            worker.stop()


def measure_limits(seconds, limits, mps, clocks):
    """Each kind under the first limit beside each under the second, and all of them alone."""
    print(f"# limits {limits}", flush=True)
    workers = clients([p if p < 100 else None for p in limits], mps)
    make(workers, LIMITED)
    alone = [measure_alone(worker, LIMITED, seconds, clocks, f" {limit} %")
             for worker, limit in zip(workers, limits)]
    for pair in itertools.product(LIMITED, LIMITED):
        measure_pair(workers, pair, [times[n] for times, n in zip(alone, pair)], seconds, clocks)
    for worker in workers:
        worker.stop()


def main():
    """Parse the options, start the daemon, measure."""
    parser = argparse.ArgumentParser(description="speeds of pairs of kernels under MPS")
    parser.add_argument("seconds", type=float, nargs="?", default=0.7)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--limits", action="append", default=[],
                        type=lambda text: tuple(int(part) for part in text.split(",")))
    args = parser.parse_args()
    with daemon("mps-pairs") as (mps, clocks):
        for limits in args.limits:
            measure_limits(args.seconds, limits, mps, clocks)
        if not args.limits:
            measure(args.seconds, args.small, mps, clocks)


NAMES = ["product-8192", "product-1024", "prefill-256", "decode-32", "decode-32-small",
         "attention-4096", "convolution-64", "elements-128M", "elements-8M", "norm-32"]
SMALL = ["blocks-2", "blocks-8", "norm-32", "norm-128", "norm-512", "norm-2048"]
LIMITED = ["product-8192", "product-1024", "prefill-256", "decode-32", "attention-4096",
           "convolution-64", "elements-128M", "norm-32"]
TRIOS = [("product-8192", "product-8192", "product-8192"), ("decode-32",) * 3,
         ("product-1024", "decode-32", "attention-4096"), ("product-8192", "decode-32", "norm-32")]
if __name__ == "__main__":
    serve() if "--serve" in sys.argv else main()
