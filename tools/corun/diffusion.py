#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""A diffusion pipeline that makes one image after the other, without a pause.

corun.py starts it. An image: the text encoders for the prompt and the negative prompt, 20
denoising steps of a batch of two (guidance), the decoder to 1024 x 1024, the picture on the
host. With --offload, weights are in managed memory and go to the host at the end of the image,
so that the next one faults them in.
"""

import argparse
import gc
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "4")

import torch
import torch.nn.functional as F

import logs
import managed
import worker
from stable_diffusion import Networks

STEPS = 20
GUIDANCE = 7.5
REGION_GIB = dict(clips=2, text=10, denoiser=6, decoder=1)  # room for the weights, in GiB
OFFLOAD = dict(encoders=("clips", "text"), all=tuple(REGION_GIB))


class Pipeline:
    """Networks, and the events that mark the phases of an image."""

    def __init__(self, device="cuda", tiny=False, steps=STEPS, offload=None):
        self.gpu, self.device, self.steps = device != "cpu", device, steps
        self.dtype = torch.bfloat16 if self.gpu else torch.float32
        regions = {name: managed.Region(gib << 30)
                   for name, gib in REGION_GIB.items()} if offload else {}
        self.offloaded = [regions[name] for name in OFFLOAD[offload]] if offload else []
        self.net = Networks(device, self.dtype, tiny, regions)
        self.events = [torch.cuda.Event(enable_timing=True) if self.gpu else None
                       for _ in range(steps + 3)]

    def encode(self):
        """Text and pooled embeddings of the prompt and the negative prompt."""
        texts, pooled = [], []
        for _ in range(2):
            clips = [clip(torch.randint(0, 99, (1, 77), device=self.device))
                     for clip in self.net.clips]
            text = self.net.text(torch.randint(0, 99, (1, 256), device=self.device))
            both = torch.cat(clips, -1)
            both = F.pad(both, (0, text.shape[-1] - both.shape[-1]))
            texts.append(torch.cat([both, text], -2))
            last = torch.cat([clip[:, -1] for clip in clips], -1)
            pooled.append(F.pad(last, (0, 2048 - last.shape[-1])))
        return torch.cat(texts), torch.cat(pooled)

    def denoise(self, latents, text, pooled, index):
        """One step."""
        timestep = torch.full((2,), 1000.0 * (1 - index / self.steps), device=self.device)
        both = self.net.denoiser(torch.cat([latents] * 2), text, pooled, timestep)
        without, guided = both.chunk(2)
        noise = without + GUIDANCE * (guided - without)
        return (latents.to(torch.float32) - noise / self.steps).to(latents.dtype)

    def latents(self):
        """Random latents."""
        size = 2 * self.net.denoiser.grid
        return torch.randn(1, 16, size, size, device=self.device, dtype=self.dtype)

    def decode(self, latents):
        """The image on the GPU."""
        return (self.net.decoder(latents / 1.5305 + 0.0609) / 2 + 0.5).clamp(0, 1)

    def offload(self):
        """Send weights to the host, and wait until they are there."""
        for region in self.offloaded:
            region.send_to_host()
        if self.offloaded:
            torch.cuda.synchronize()

    def mark(self, index):
        """Mark the end of a phase on the GPU."""
        if self.gpu:
            self.events[index].record()

    def image(self, stop_ns=None):
        """Make one image, or a part: no step is launched after stop_ns.

        Returns dates in ns (begin, all launched, end on the GPU, end), the steps, and the ends
        of phases on the GPU in ns: begin, encoders, each step, decoder if it ran.
        """
        begin = time.monotonic_ns()
        self.mark(0)
        text, pooled = self.encode()
        latents = self.latents()
        self.mark(1)
        steps = 0
        stopped = False
        while steps < self.steps and not stopped:
            latents = self.denoise(latents, text, pooled, steps)
            steps += 1
            self.mark(1 + steps)
            stopped = stop_ns is not None and time.monotonic_ns() > stop_ns
        if not stopped:
            image = self.decode(latents)
            self.mark(2 + steps)
        launched = time.monotonic_ns()
        if self.gpu:
            torch.cuda.synchronize()
        gpu_end = time.monotonic_ns()
        if not stopped:
            array = image.cpu().permute(0, 2, 3, 1).float().numpy()
            (array * 255).round().astype("uint8")
            self.offload()
        end = None if stopped else time.monotonic_ns()
        ends = []
        if self.gpu:
            last = self.events[1 + steps if stopped else 2 + steps]
            ends = [gpu_end - int(event.elapsed_time(last) * 1e6)
                    for event in self.events[:2 + steps if stopped else 3 + steps]]
        return begin, launched, gpu_end, end, steps, ends

    def run(self, start_ns, seconds, drain_s, prefix, settings):
        """Make images until the end of the run; see worker.serve()."""
        stop_ns = start_ns + int((seconds + drain_s) * 1e9)
        images, phases = [], []
        gc.collect()
        gc.freeze()
        worker.wait_until(start_ns)
        while time.monotonic_ns() < stop_ns:
            begin, launched, gpu_end, end, steps, ends = self.image(stop_ns)
            names = ["encoders"] + ["step"] * steps + ["decoder"]
            for i, (first, last) in enumerate(zip(ends, ends[1:])):
                phases.append((len(images), names[i], i - 1 if names[i] == "step" else 0,
                               (first - start_ns) // 1000, (last - start_ns) // 1000))
            images.append((begin, "" if end is None else end, launched, gpu_end, steps))
        logs.write_rows(prefix + ".images.csv", logs.IMAGE_COLUMNS, images)
        logs.write_rows(prefix + ".phases.csv", logs.PHASE_COLUMNS, phases)
        return dict(images=sum(1 for image in images if image[1] != ""))


def main():
    """Load, make two images, serve."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--tiny", action="store_true", help="tiny shapes, for a check")
    parser.add_argument("--offload", choices=tuple(OFFLOAD),
                        help="networks whose weights go to the host after each image")
    arguments = parser.parse_args()
    if arguments.offload and arguments.device == "cpu":
        parser.error("--offload needs a GPU")
    begin = time.monotonic()
    with torch.inference_mode():
        pipeline = Pipeline(arguments.device, arguments.tiny, arguments.steps,
                            arguments.offload)
        loaded = time.monotonic()
        pipeline.image()
        pipeline.image()
        worker.serve("diffusion", pipeline.run, load_s=round(loaded - begin, 1),
                     warm_up_s=round(time.monotonic() - loaded, 1),
                     memory_bytes=torch.cuda.memory_reserved() if pipeline.gpu else 0)


if __name__ == "__main__":
    main()
