#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""What is in each batch of faults of a diffusion pipeline's networks, and how long paging takes.

    uvm_batches.py OUT

The pipeline is that of tools/corun with all weights in managed memory. Before each measurement
they are sent to the host. Products of T5's shapes with 256 tokens are measured alone, too. First
times only; then with the events that nvidia-uvm gives to tools, by uvm_events.c, which is compiled
into OUT. Events make paging up to 1.8 times as slow, so what they tell is what batches have in
them. OUT/batches.txt gets

    time NAME ms MB            in which NAME's weights came to the GPU, or went to the host
    batches NAME N ...         means of N batches: faults (those that the driver merged count once);
                               addresses, pages and blocks, of 4 KB, 64 KB and 2 MB, that they are
                               on; units of the GPU that they came from; copies to the GPU, and
                               pages that these have a part in
    product NAME ...           batches for one product; share of the faults that are on pages which
                               had come before, most with the batch before; and of the others, how
                               many are on a page and from a unit of a batch
"""

import ctypes
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "tools", "corun"))

import numpy as np
import torch
import torch.nn.functional as F

import managed
from diffusion import Pipeline

SMALL_SHIFT, PAGE_SHIFT, BLOCK_SHIFT = 12, 16, 21
PRODUCTS = ((10240, 4096), (4096, 10240), (4096, 4096))  # outputs, inputs
TOKENS = 256
ROUNDS = 12
ENTRIES = 1 << 21
COPY, FAULT = 2, 3
HOST = 0  # index of the CPU
# UvmEventMigrationInfo and UvmEventGpuFaultInfo
COPIES = np.dtype([("type", "u1"), ("cause", "u1"), ("source", "u1"), ("target", "u1"),
                   ("pad", "u4"), ("address", "u8"), ("bytes", "u8"), ("begin", "u8"),
                   ("end", "u8"), ("group", "u8"), ("gpu_begin", "u8"), ("gpu_end", "u8")])
FAULTS = np.dtype([("type", "u1"), ("kind", "u1"), ("access", "u1"), ("gpu", "u1"),
                   ("gpc", "u2"), ("client", "u2"), ("address", "u8"), ("date", "u8"),
                   ("gpu_date", "u8"), ("batch", "u4"), ("rest", "V28")])


class Recorder:
    """uvm_events.c, compiled."""

    def __init__(self, out):
        path = os.path.join(out, "uvm_events.so")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", path,
                        os.path.join(HERE, "uvm_events.c")], check=True)
        self.library, self.out = ctypes.CDLL(path), out
        self.call("uvm_events_open", ENTRIES)

    def call(self, name, *arguments):
        """A function of it."""
        status = getattr(self.library, name)(*arguments)
        if status:
            raise SystemExit(f"{name} has failed with {status}")

    def record(self, work):
        """Do work. Returns its events."""
        path = os.path.join(self.out, "events")
        self.call("uvm_events_start")
        work()
        torch.cuda.synchronize()
        self.call("uvm_events_stop", path.encode())
        with open(path, "rb") as file:
            events = np.frombuffer(file.read(), dtype="V64")
        os.remove(path)
        return events


def by_date(events, field):
    """Events in the order of a date of theirs."""
    return events[np.argsort(events[field], kind="stable")]


def pages_of(copies):
    """Pages of 64 KB that copies have a part in."""
    return {page for address, size in zip(copies["address"].tolist(), copies["bytes"].tolist())
            for page in range(address >> PAGE_SHIFT, ((address + size - 1) >> PAGE_SHIFT) + 1)}


def batches_of(events):
    """The faults of each batch, and the copies to the GPU from its start to the next one's."""
    types = events.view("u1").reshape(-1, 64)[:, 0]
    faults = by_date(events[types == FAULT].view(FAULTS), "date")
    copies = events[types == COPY].view(COPIES)
    copies = by_date(copies[copies["source"] == HOST], "begin")
    batches, firsts = np.unique(faults["batch"], return_index=True)
    starts = sorted((int(faults["date"][first]), batch)
                    for batch, first in zip(batches, firsts))
    for (start, batch), (until, _) in zip(starts, starts[1:] + [(1 << 63, 0)]):
        yield (faults[faults["batch"] == batch],
               copies[(copies["begin"] >= start) & (copies["begin"] < until)])


def units_of(faults):
    """The unit of the GPU of each fault."""
    return faults["gpc"].astype(np.uint32) << 16 | faults["client"]


def means_of(name, batches):
    """The line of a recorded measurement."""
    rows = [(len(faults), *(len(np.unique(faults["address"] >> np.uint64(shift)))
                            for shift in (SMALL_SHIFT, PAGE_SHIFT, BLOCK_SHIFT)),
             len(np.unique(units_of(faults))), len(copies), len(pages_of(copies)))
            for faults, copies in batches]
    words = ("faults", "addresses", "pages", "blocks", "units", "copies", "copied_pages")
    means = " ".join(f"{word} {sum(column) / len(rows):.1f}"
                     for word, column in zip(words, zip(*rows)))
    return f"batches {name} {len(rows)} {means}"


def product_of(name, batches, products):
    """How the faults of products follow each other."""
    resident, before = set(), set()
    faults_in_all = again = again_before = on_pages = from_units = 0
    for faults, copies in batches:
        pages = (faults["address"] >> np.uint64(PAGE_SHIFT)).tolist()
        missing = np.array([page not in resident for page in pages])
        faults_in_all += len(pages)
        again += len(pages) - int(missing.sum())
        again_before += sum(page in before for page in pages)
        on_pages += len({page for page in pages if page not in resident})
        from_units += len(np.unique(units_of(faults)[missing]))
        before = pages_of(copies)
        resident |= before
    fresh = faults_in_all - again
    return (f"product {name} batches {len(batches) / products:.1f} again "
            f"{again / faults_in_all:.2f} of_the_batch_before {again_before / faults_in_all:.2f} "
            f"faults_of_a_page {fresh / on_pages:.1f} of_a_unit {fresh / from_units:.1f}")


def timed(work):
    """ms of work."""
    torch.cuda.synchronize()
    begin = time.monotonic()
    work()
    torch.cuda.synchronize()
    return 1e3 * (time.monotonic() - begin)


class Products:
    """Matrices of one shape, each in its own region."""

    def __init__(self, outputs, inputs):
        self.name = f"product-{outputs}x{inputs}"
        self.regions = [managed.Region(outputs * inputs * 2) for _ in range(ROUNDS)]
        self.weights = [region.take((outputs, inputs), torch.bfloat16).normal_(0, 0.02)
                        for region in self.regions]
        self.tokens = torch.randn(TOKENS, inputs, device="cuda", dtype=torch.bfloat16)
        F.linear(self.tokens, self.weights[0])

    def send(self):
        """All to the host."""
        for region in self.regions:
            region.send_to_host()
        torch.cuda.synchronize()

    def run(self):
        """All products, one after the other."""
        for weight in self.weights:
            F.linear(self.tokens, weight)


def networks_of(pipeline):
    """Name, work and weights of each network."""
    state = {}

    def encode():
        state["text"], state["pooled"] = pipeline.encode()

    def denoise():
        pipeline.denoise(pipeline.latents(), state["text"], state["pooled"], 0)

    def decode():
        pipeline.decode(pipeline.latents())

    return (("encode", encode, pipeline.offloaded[:2]),
            ("denoise", denoise, pipeline.offloaded[2:3]),
            ("decode", decode, pipeline.offloaded[3:]))


def megabytes(regions):
    """Of what was given out."""
    return sum(region.used for region in regions) / 1e6


def main():
    """Times, then events."""
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    with torch.inference_mode(), open(os.path.join(out, "batches.txt"), "w",
                                      encoding="utf-8") as file:
        products = [Products(*shape) for shape in PRODUCTS]
        pipeline = Pipeline(offload="all")
        pipeline.image()
        networks = networks_of(pipeline)

        def say(line):
            file.write(line + "\n")
            file.flush()

        for _ in range(4):
            for product in products:
                size = megabytes(product.regions)
                say(f"time send-{product.name} {timed(product.send):.2f} {size:.1f}")
                say(f"time {product.name} {timed(product.run) / ROUNDS:.2f} {size / ROUNDS:.1f}")
            for name, work, regions in networks:
                say(f"time {name} {timed(work):.2f} {megabytes(regions):.1f}")
                say(f"time {name}-again {timed(work):.2f} 0")
            say(f"time send-all {timed(pipeline.offload):.2f} "
                f"{megabytes(pipeline.offloaded):.1f}")
        recorder = Recorder(out)
        for _ in range(2):
            for product in products:
                product.send()
                batches = list(batches_of(recorder.record(product.run)))
                say(means_of(product.name, batches))
                say(product_of(product.name, batches, ROUNDS))
            for name, work, _ in networks:
                say(means_of(name, list(batches_of(recorder.record(work)))))
            pipeline.offload()


if __name__ == "__main__":
    main()
