#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""Does the kit compute what it should here? corun.py --check runs this first.

The kernels of attention are compared with float64, a step with plain PyTorch, and a prompt that
is computed in chunks with the same prompt at once. Then a tiny image.
"""

import argparse
import os
import sys
import time

os.environ.setdefault("OMP_NUM_THREADS", "4")

import numpy as np
import torch

import arrivals
from diffusion import Pipeline
from llama import PAGE, TABLE_WIDTH, Llama, Step
from ops import PlainOps

ATTENTION_ERROR = 0.01  # relative; bf16 has 8 bits
STEP_ERROR = 0.05
TRACE = "../../traces/burstgpt1_gvm3256.trace"

failed = []


def report(name, value, limit):
    """Print a check, and note whether it holds."""
    good = value <= limit  # NaN is not
    print(f"check {name}: {value:.5f}, at most {limit:g}: {'good' if good else 'FAILED'}",
          flush=True)
    if not good:
        failed.append(name)


def error(value, reference):
    """The relative error of a tensor."""
    return ((value.double() - reference.double()).norm() / reference.double().norm()).item()


def table_of(model):
    """A block table in which six sequences have blocks in a random order."""
    order = np.random.RandomState(0).permutation(model.blocks)
    each = model.blocks // 6
    for row in range(6):
        model.host_table[row, :min(each, TABLE_WIDTH)] = \
            order[row * each:(row + 1) * each][:TABLE_WIDTH]
    return model.host_table


def check_attention(model, plain):
    """The kernels on decoding sequences and chunks of several lengths."""
    table = table_of(model)
    for cache in model.caches[0]:
        cache.normal_(0, 1)
    step = Step(False)
    lengths = [1, 17, 333, 2000]
    chunks = [(4, 0, np.zeros(200, dtype=np.int32)),
              (5, 300, np.zeros(150, dtype=np.int32))]
    step.fill(table, [(i, length - 1, 0) for i, length in enumerate(lengths)], chunks)
    model.upload(step)
    qkv = torch.empty(step.tokens, model.width, device=model.device,
                      dtype=model.dtype).normal_(0, 2)
    arguments = (qkv, model.caches[0], model.table, model.arrays, step)
    reference = plain.attention(*arguments)
    for splits in (1, 4, 16):
        report(f"paged attention, {splits} splits",
               error(model.ops.attention(*arguments, splits=splits), reference),
               ATTENTION_ERROR)


def logits_of(model, lengths):
    """Logits behind a prompt of 60 tokens that is computed in pieces of these lengths."""
    tokens = np.arange(60, dtype=np.int32) * 7 % model.config["vocab"]
    table, step, at = table_of(model), Step(False), 0
    for length in lengths:
        if length == 1:
            step.fill(table, [(0, at, int(tokens[at]))], [])
        else:
            step.fill(table, [], [(0, at, tokens[at:at + length])])
        at += length
        model.upload(step)
        logits = model.forward(step).clone()
    return logits


def check_steps(model, plain):
    """Chunks and single tokens give what the whole prompt gives; so does plain PyTorch."""
    whole = logits_of(model, [60])
    report("a prompt in chunks", error(logits_of(model, [20, 38, 1, 1]), whole), STEP_ERROR)
    model.ops, kernels = plain, model.ops
    report("a step in plain PyTorch", error(logits_of(model, [60]), whole), STEP_ERROR)
    model.ops = kernels


def check_image(device):
    """A tiny image; its marks are in order."""
    pipeline = Pipeline(device, tiny=True, steps=3)
    pipeline.image()
    begin, launched, gpu_end, end, steps, ends = pipeline.image()
    ordered = begin <= launched <= gpu_end <= end and ends == sorted(ends)
    report("an image's dates", 0 if ordered and steps == 3 else 1, 0)
    report("an image's marks", abs(len(ends) - (6 if pipeline.gpu else 0)), 0)


def main():
    """All checks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    device = parser.parse_args().device
    begin = time.monotonic()
    rows = arrivals.read_trace(os.path.join(os.path.dirname(os.path.abspath(__file__)), TRACE))
    report("requests of the trace", abs(len(rows) - 3256), 0)
    with torch.inference_mode():
        gpu = device != "cpu"
        model = Llama("3b-short" if gpu else "tiny", 6 * 130, device,
                      torch.bfloat16 if gpu else torch.float32)
        plain = PlainOps(model.config, 0, PAGE, device)
        check_attention(model, plain)
        check_steps(model, plain)
        check_image(device)
    print(f"check of {torch.cuda.get_device_name() if gpu else 'the CPU'}: "
          f"{len(failed)} failed, {time.monotonic() - begin:.1f} s", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
