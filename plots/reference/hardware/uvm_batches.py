#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""What is in each batch of faults of a diffusion pipeline's networks, and what a batch costs.

    uvm_batches.py OUT

The pipeline is that of tools/corun with all weights in managed memory. Before each measurement
they are sent to the host. Products of T5's shapes with 256 tokens are measured alone, too. First
times only; then with the events that nvidia-uvm gives to tools, by uvm_events.c, which is compiled
into OUT. OUT gets times.txt; for each recorded measurement NAME.csv.gz, a row for each batch; and
for products NAME.events.gz, all events:

    start_us, replay_us    when the driver looked at its first fault, and when it let the GPU replay
    faults                 events, without those that the driver merged
    addresses, pages, blocks   of 4 KB, 64 KB and 2 MB, that these faults are on
    units                  of the GPU, that they came from
    copies, bytes          to the GPU, of which the driver began to push after the batch's start
    copied_pages           of 64 KB, that these copies have a part in
    copied_us              when the last of them had ended
"""

import ctypes
import gzip
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
COPY, FAULT, REPLAY = 2, 3, 4
HOST = 0  # index of the CPU
# UvmEventMigrationInfo, UvmEventGpuFaultInfo and UvmEventGpuFaultReplayInfo
COPIES = np.dtype([("type", "u1"), ("cause", "u1"), ("source", "u1"), ("target", "u1"),
                   ("pad", "u4"), ("address", "u8"), ("bytes", "u8"), ("begin", "u8"),
                   ("end", "u8"), ("group", "u8"), ("gpu_begin", "u8"), ("gpu_end", "u8")])
FAULTS = np.dtype([("type", "u1"), ("kind", "u1"), ("access", "u1"), ("gpu", "u1"),
                   ("gpc", "u2"), ("client", "u2"), ("address", "u8"), ("date", "u8"),
                   ("gpu_date", "u8"), ("batch", "u4"), ("rest", "V28")])
REPLAYS = np.dtype([("type", "u1"), ("gpu", "u1"), ("client", "u1"), ("pad", "u1"),
                    ("batch", "u4"), ("date", "u8"), ("gpu_date", "u8"), ("rest", "V40")])


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

    def record(self, name, work, whole=False):
        """Do work, and write down its batches, and all events if they are wanted."""
        raw = os.path.join(self.out, "raw")
        self.call("uvm_events_start")
        work()
        torch.cuda.synchronize()
        self.call("uvm_events_stop", raw.encode())
        with open(raw, "rb") as file:
            events = file.read()
        os.remove(raw)
        if whole:
            with gzip.open(os.path.join(self.out, name + ".events.gz"), "wb") as file:
                file.write(events)
        with gzip.open(os.path.join(self.out, name + ".csv.gz"), "wt") as file:
            file.write("start_us,replay_us,faults,addresses,pages,blocks,units,copies,bytes,"
                       "copied_pages,copied_us\n")
            for batch in batches_of(np.frombuffer(events, dtype="V64")):
                file.write(",".join(map(str, batch)) + "\n")


def by_date(events, field):
    """Events in the order of a date of theirs."""
    return events[np.argsort(events[field], kind="stable")]


def batches_of(events):
    """A row for each batch."""
    types = events.view("u1").reshape(-1, 64)[:, 0]
    faults = by_date(events[types == FAULT].view(FAULTS), "date")
    replays = events[types == REPLAY].view(REPLAYS)
    copies = events[types == COPY].view(COPIES)
    copies = by_date(copies[copies["source"] == HOST], "begin")
    if not len(faults):
        return
    replayed = dict(zip(replays["batch"], replays["date"]))
    batches, firsts = np.unique(faults["batch"], return_index=True)
    starts = sorted((int(faults["date"][first]), batch)
                    for batch, first in zip(batches, firsts))
    zero = starts[0][0]
    for (start, batch), (until, _) in zip(starts, starts[1:] + [(1 << 63, 0)]):
        mine = faults[faults["batch"] == batch]
        moved = copies[(copies["begin"] >= start) & (copies["begin"] < until)]
        pages = set()
        for address, size in zip(moved["address"].tolist(), moved["bytes"].tolist()):
            pages.update(range(address >> PAGE_SHIFT,
                               ((address + size - 1) >> PAGE_SHIFT) + 1))
        yield ((start - zero) // 1000,
               (int(replayed[batch]) - zero) // 1000 if batch in replayed else "", len(mine),
               *(len(np.unique(mine["address"] >> shift))
                 for shift in (SMALL_SHIFT, PAGE_SHIFT, BLOCK_SHIFT)),
               len(np.unique(mine["gpc"].astype(np.uint32) << 16 | mine["client"])),
               len(moved), int(moved["bytes"].sum()), len(pages),
               (int(moved["end"].max()) - zero) // 1000 if len(moved) else "")


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


def main():
    """Times, then records."""
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    with torch.inference_mode(), open(os.path.join(out, "times.txt"), "w",
                                      encoding="utf-8") as times:
        products = [Products(*shape) for shape in PRODUCTS]
        pipeline = Pipeline(offload="all")
        pipeline.image()

        def say(name, value, size):
            times.write(f"{name} ms {value:.2f} MB {size / 1e6:.1f}\n")
            times.flush()

        def bytes_of(regions):
            return sum(region.used for region in regions)

        state = {}

        def encode():
            state["text"], state["pooled"] = pipeline.encode()

        def denoise():
            pipeline.denoise(pipeline.latents(), state["text"], state["pooled"], 0)

        def decode():
            pipeline.decode(pipeline.latents())

        for _ in range(4):
            for product in products:
                say("send " + product.name, timed(product.send), bytes_of(product.regions))
                say(product.name, timed(product.run) / ROUNDS,
                    bytes_of(product.regions) / ROUNDS)
            for name, work, regions in (("encode", encode, pipeline.offloaded[:2]),
                                        ("denoise", denoise, pipeline.offloaded[2:3]),
                                        ("decode", decode, pipeline.offloaded[3:])):
                say(name, timed(work), bytes_of(regions))
                say(name + " again", timed(work), bytes_of(regions))
            say("send all", timed(pipeline.offload), bytes_of(pipeline.offloaded))
        recorder = Recorder(out)
        for i in range(2):
            for product in products:
                product.send()
                recorder.record(f"{product.name}.{i}", product.run, i == 0)
            for name, work in (("encode", encode), ("denoise", denoise), ("decode", decode)):
                recorder.record(f"{name}.{i}", work)
            pipeline.offload()


if __name__ == "__main__":
    main()
