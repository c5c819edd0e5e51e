#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""What a diffusion pipeline loses at each of its turns, beside a busy process.

    cc -O2 -shared -fPIC -o timeslice.so ../../../tools/corun/timeslice.c -ldl
    LD_PRELOAD=$PWD/timeslice.so ./pipeline_turns.py ./between

The pipeline is that of tools/corun, and denoises without end. The other process is "between busy"
(between.cu), whose kernels touch no memory. Both set their slices, as root. A line has the speed of the
pipeline, where 1 is alone, and what the other process says of its turns. The pipeline was on the GPU while
the other one was not, less two hand-overs. What its speed says less than that is lost: it was on the GPU
with cold caches.
"""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[".."] * 3, "tools", "corun"))

import torch

import diffusion
import worker

SLICES_US = (512, 2048, 8192)


def step_ms(pipeline, seconds):
    """The mean time of a denoising step, with two steps queued ahead."""
    text, pooled = pipeline.encode()
    latents = pipeline.latents()
    ends = []
    stop = time.monotonic() + seconds
    while len(ends) < 4 or time.monotonic() < stop:
        latents = pipeline.denoise(latents, text, pooled, len(ends) % pipeline.steps)
        ends.append(torch.cuda.Event(enable_timing=True))
        ends[-1].record()
        if len(ends) > 2:
            ends[-3].synchronize()
    torch.cuda.synchronize()
    return ends[1].elapsed_time(ends[-1]) / (len(ends) - 2)


def main():
    """Alone, then beside."""
    with torch.inference_mode():
        pipeline = diffusion.Pipeline()
        pipeline.image()
        alone = step_ms(pipeline, 4)
        print(f"alone: a step takes {alone:.2f} ms", flush=True)
        for slice_us in SLICES_US:
            worker.set_timeslice(slice_us)
            environment = dict(os.environ, BUSY_SLICE=str(slice_us), BUSY_SECONDS="13")
            del environment["LD_PRELOAD"]
            with subprocess.Popen([sys.argv[1], "busy"], env=environment, text=True,
                                  stdout=subprocess.PIPE) as other:
                time.sleep(4)
                together = step_ms(pipeline, 6)
                said = other.communicate()[0].strip().splitlines()[-1]
            print(f"slices of {slice_us} us: a step takes {together:.2f} ms, speed {alone / together:.4f}; "
                  f"the other process: {said}", flush=True)


if __name__ == "__main__":
    main()
