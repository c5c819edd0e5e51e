#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""What a simulation needs of the two applications alone, as CSV that a profile can cite.

    measure.py OUT [PART...]

    products    products.csv    a matrix product of a layer, by tokens
    attention   attention.csv   attention of one layer, by sequences, queries and context
    steps       steps.csv       a whole step of the LLM: eager, its host part, in a CUDA graph
    image       image.csv       the phases of an image: alone, their host part
    kernels     kernels.csv     launches and copies of a step and of a phase
    host        host.csv        host time of a launch
    memory      memory.csv      copies, reads and fills on the GPU

GPU times are medians of five replays of a CUDA graph that goes round over enough weights that
none stays in the L2 cache. eager_us is the wall time of a step with the wait for its end,
launch_us the host's part of it. About two minutes on an H200.
"""

import argparse
import csv
import math
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "4")

import numpy as np
import torch
import torch.nn.functional as F

from diffusion import Pipeline
from llama import CONFIGS, PAGE, Llama, Step

L2_BYTES = 300e6  # more than any cache
BF16 = torch.bfloat16


def random(*shape):
    """Small random numbers."""
    return torch.empty(*shape, device="cuda", dtype=BF16).normal_(0, 0.05)


def median(values):
    """Of an odd number of values."""
    return sorted(values)[len(values) // 2]


class GpuTimer:
    """Times calls on the GPU, without the host's part."""

    def __init__(self):
        self.stream = torch.cuda.Stream()
        self.begin, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def _ms(self, run):
        self.begin.record(self.stream)
        run()
        self.end.record(self.stream)
        self.stream.synchronize()
        return self.begin.elapsed_time(self.end)

    def us(self, calls, ms=3.0, replays=5):
        """Microseconds of a call, where calls are made in turn; a graph lasts about ms."""
        def some(count):
            for call in calls[:count]:
                call()

        with torch.cuda.stream(self.stream):
            some(3)
            self.stream.synchronize()
            few = min(8, len(calls))
            each_ms = max(0.001, self._ms(lambda: some(few)) / few)
            used = calls[:max(1, int(100 / each_ms))]
            rounds = max(1, min(40, int(ms / each_ms / len(used))))
            graph = torch.cuda.CUDAGraph()
            graph.capture_begin(capture_error_mode="thread_local")
            try:
                for _ in range(rounds):
                    some(len(used))
            finally:
                graph.capture_end()
            graph.replay()
            self.stream.synchronize()
            times = [self._ms(graph.replay) for _ in range(replays)]
        return median(times) * 1e3 / (rounds * len(used))


def host_us(launch, repeats=9):
    """(wall time until the end on the GPU, time to launch), medians, of calls that launch."""
    for _ in range(3):
        launch()
        torch.cuda.synchronize()
    walls, launches = [], []
    for _ in range(repeats):
        begin = time.perf_counter()
        launch()
        launched = time.perf_counter()
        torch.cuda.synchronize()
        walls.append(time.perf_counter() - begin)
        launches.append(launched - begin)
    return median(walls) * 1e6, median(launches) * 1e6


def products(timer):
    """Matrix products of each layer, [tokens, k] times [k, n]."""
    yield "model", "layer", "k", "n", "tokens", "time_us"
    tokens = (1, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
    shapes = []
    for name in ("3b", "8b"):
        c = CONFIGS[name]
        heads = (c["heads"] + 2 * c["kv_heads"]) * c["d"]
        shapes += [(name, "qkv", c["hidden"], heads, tokens),
                   (name, "o", c["heads"] * c["d"], c["hidden"], tokens),
                   (name, "gate_up", c["hidden"], 2 * c["ffn"], tokens),
                   (name, "down", c["ffn"], c["hidden"], tokens),
                   (name, "lm_head", c["hidden"], c["vocab"], tokens[:9])]
    images = (666, 8192)  # text and image tokens of a batch of two
    shapes += [("mmdit", "q", 1536, 1536, images), ("mmdit", "up", 1536, 6144, images),
               ("mmdit", "down", 6144, 1536, images), ("mmdit", "ada", 1536, 13824, (2,)),
               ("t5", "q", 4096, 4096, (256,)), ("t5", "gate", 4096, 10240, (256,)),
               ("t5", "down", 10240, 4096, (256,)), ("square", "8192", 8192, 8192, (8192,))]
    for model, layer, k, n, counts in shapes:
        weights = [random(n, k) for _ in range(
            max(2, min(32, math.ceil(L2_BYTES / (2 * n * k)))))]
        for count in counts:
            x = random(count, k)
            calls = [lambda w=w, x=x: F.linear(x, w) for w in weights]
            yield model, layer, k, n, count, f"{timer.us(calls):.2f}"


def random_table(model, rows, length):
    """Give so many sequences of a length random blocks."""
    blocks = np.random.RandomState(0).permutation(model.blocks)
    each = -(-length // PAGE)
    for row in range(rows):
        model.host_table[row, :each] = np.take(
            blocks, range(row * each, (row + 1) * each), mode="wrap")


def step_of(model, decodes=0, context=0, chunks=0, chunk=0, computed=0):
    """A filled and uploaded step: decodes at a context, chunks behind computed tokens."""
    random_table(model, decodes + chunks, max(context, computed + chunk) + 1)
    step = Step(True)
    tokens = np.arange(chunk, dtype=np.int32) % 1000
    step.fill(model.host_table, [(row, context - 1, 5) for row in range(decodes)],
              [(decodes + i, computed, tokens) for i in range(chunks)])
    model.upload(step)
    torch.cuda.synchronize()
    return step


def attention(timer):
    """Paged attention of one layer of the 3b, averaged over its 28 with caches of their own."""
    yield ("kind", "sequences", "query_tokens", "context_tokens", "time_us")
    model = Llama("3b", 18750)

    def calls(step):
        return [lambda cache=cache: model.ops.attention(
            qkv, cache, model.table, model.arrays, step) for cache in model.caches]

    for sequences in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        for context in (128, 256, 512, 1024, 2048, 4096, 8192):
            step = step_of(model, sequences, context)
            qkv = random(step.tokens, model.width)
            yield "decode", sequences, 1, context, f"{timer.us(calls(step)):.2f}"
    for chunks, chunk, computed in (
            (1, 128, 0), (1, 256, 0), (1, 512, 0), (1, 1024, 0), (1, 2048, 0), (1, 4096, 0),
            (1, 2048, 2048), (1, 2048, 4096), (1, 512, 1536), (4, 512, 0)):
        step = step_of(model, chunks=chunks, chunk=chunk, computed=computed)
        qkv = random(step.tokens, model.width)
        yield "prefill", chunks, chunk, computed + chunk, f"{timer.us(calls(step)):.2f}"


STEPS = (
    [dict(decodes=n, context=1024) for n in (1, 2, 4, 8, 16, 32, 64, 128, 256)]
    + [dict(decodes=n, context=256) for n in (1, 16, 64, 256)]
    + [dict(decodes=n, context=c) for n, c in ((64, 4096), (32, 8192), (8, 4096), (1, 8192))]
    + [dict(chunks=1, chunk=n) for n in (1, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)]
    + [dict(chunks=4, chunk=512), dict(chunks=16, chunk=128)]
    + [dict(chunks=1, chunk=n, computed=c) for n, c in ((2048, 2048), (2048, 4096),
                                                        (512, 1536))]
    + [dict(decodes=d, context=993, chunks=1, chunk=n) for d, n in (
        (1, 641), (8, 641), (32, 641), (64, 641), (128, 640), (200, 640),
        (32, 2016), (64, 1984), (128, 1920), (200, 1848))])


def steps(timer):
    """Whole steps of the 3b."""
    keys = ("decodes", "context", "chunks", "chunk", "computed")
    yield ("model", "decodes", "context_tokens", "chunks", "chunk_tokens", "computed_tokens",
           "eager_us", "launch_us", "graph_us")
    model = Llama("3b", 18750)
    for case in STEPS:
        step = step_of(model, **case)
        eager, launch = host_us(lambda: model.run(step))
        graph = timer.us([lambda: model.forward(step).float().argmax(-1)], 1.0)
        yield ("3b", *(case.get(key, 0) for key in keys), f"{eager:.0f}", f"{launch:.0f}",
               f"{graph:.0f}")


def image(timer):
    """The phases of an image, alone. gpu_us is the phase within an image that runs eagerly."""
    yield "phase", "eager_us", "launch_us", "gpu_us"
    pipeline = Pipeline()
    for _ in range(2):
        pipeline.image()
    images = [pipeline.image() for _ in range(3)]
    ends = images[1][5]
    lengths = [(b - a) / 1e3 for a, b in zip(ends, ends[1:])]
    text, pooled = pipeline.encode()
    latents = pipeline.latents()
    for name, call, gpu_us in (
            ("encoders", pipeline.encode, lengths[0]),
            ("step", lambda: pipeline.denoise(latents, text, pooled, 3),
             median(lengths[1:-1][1:])),
            ("decoder", lambda: pipeline.decode(latents), lengths[-1])):
        eager, launch = host_us(call)
        yield name, f"{eager:.0f}", f"{launch:.0f}", f"{gpu_us:.0f}"
    whole = median([end - begin for begin, _, _, end, _, _ in images]) / 1e3
    fetch = median([end - gpu_end for _, _, gpu_end, end, _, _ in images]) / 1e3
    yield "fetch", f"{fetch:.0f}", "", ""
    yield "image", f"{whole:.0f}", "", ""


def kernels(timer):
    """Launches and copies, counted by PyTorch's profiler."""
    yield "program", "part", "launches", "copies", "gpu_busy_us", "span_us"
    for row in kernels_of_llm():
        yield row
    pipeline = Pipeline()
    pipeline.image()
    text, pooled = pipeline.encode()
    latents = pipeline.latents()
    for name, call in (("encoders", pipeline.encode),
                       ("step", lambda: pipeline.denoise(latents, text, pooled, 3)),
                       ("decoder", lambda: pipeline.decode(latents))):
        yield ("diffusion", name, *profile(call))


def kernels_of_llm():
    """Of a decoding, a prefilling and a mixed step."""
    model = Llama("3b", 18750)
    for name, case in (("32 decodes", dict(decodes=32, context=993)),
                       ("prefill of 2048", dict(chunks=1, chunk=2048)),
                       ("32 decodes, prefill of 641",
                        dict(decodes=32, context=993, chunks=1, chunk=641))):
        step = step_of(model, **case)
        model.run(step).cpu()
        yield ("llm", name, *profile(lambda: model.run(step).cpu()))


def profile(call):
    """(launches, copies, us busy, us from the first begin to the last end) of a call."""
    from torch.profiler import ProfilerActivity, profile as torch_profile
    with torch_profile(activities=[ProfilerActivity.CUDA]) as trace:
        call()
        torch.cuda.synchronize()
    events = [event for event in trace.events()
              if event.device_type == torch.autograd.DeviceType.CUDA]
    copies = sum(event.name.startswith("Mem") for event in events)
    busy = sum(event.time_range.elapsed_us() for event in events)
    span = (max(event.time_range.end for event in events)
            - min(event.time_range.start for event in events))
    return len(events) - copies, copies, f"{busy:.0f}", f"{span:.0f}"


def host(timer):
    """Host time of a launch, of operators that the programs launch most."""
    import kernels as triton_kernels
    yield "call", "time_us"
    x, w, y, both = random(1, 64), random(64, 64), random(1, 64), random(1, 128)
    event = torch.cuda.Event(enable_timing=True)
    for name, call in (
            ("F.linear", lambda: F.linear(x, w)), ("addition", lambda: x + y),
            ("empty_like", lambda: torch.empty_like(x)),
            ("triton kernel", lambda: triton_kernels.silu_mul[(1, 1)](both, x, 64, 64,
                                                                      num_warps=4)),
            ("event record", event.record)):
        for _ in range(200):
            call()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(3000):
            call()
        yield name, f"{(time.perf_counter() - begin) / 3000 * 1e6:.2f}"
        torch.cuda.synchronize()


def memory(timer):
    """Rates of memory. moved_bytes: read and written."""
    yield "operation", "moved_bytes", "time_us"
    for mib in (64, 1024, 4096):
        a, b = (torch.empty(mib << 20, dtype=torch.uint8, device="cuda") for _ in range(2))
        yield "copy", 2 * a.numel(), f"{timer.us([lambda: b.copy_(a)]):.1f}"
    x = torch.zeros(1 << 30, dtype=torch.float32, device="cuda")
    yield "read", 4 * x.numel(), f"{timer.us([x.sum]):.1f}"
    yield "fill", 4 * x.numel(), f"{timer.us([lambda: x.fill_(1.0)]):.1f}"


PARTS = dict(products=products, attention=attention, steps=steps, image=image,
             kernels=kernels, host=host, memory=memory)


def main():
    """Each part into its file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("parts", nargs="*", metavar="PART",
                        help="default all: " + " ".join(PARTS))
    arguments = parser.parse_args()
    for name in arguments.parts:
        if name not in PARTS:
            parser.error(f"no part {name}, allowed: {' '.join(PARTS)}")
    os.makedirs(arguments.out, exist_ok=True)
    with torch.inference_mode():
        for name in arguments.parts or PARTS:
            begin = time.monotonic()
            path = os.path.join(arguments.out, name + ".csv")
            with open(path, "w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file, lineterminator="\n")
                for row in PARTS[name](GpuTimer()):
                    writer.writerow(row)
                    file.flush()
            torch.cuda.empty_cache()
            print(f"{path}: {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
