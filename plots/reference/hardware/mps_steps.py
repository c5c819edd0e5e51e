#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""What whole steps of an LLM server and of a diffusion pipeline lose under MPS, on a real GPU.

    python3 mps_steps.py [SECONDS] > h200-580-mps-steps.txt

As mps_pairs.py, with its kinds of kernels (but the longest) and with steps of the applications of
tools/corun: decoding steps of 16 and 64 sequences, a step with a prompt in it, a denoising step, and the
decoder of an image. Each is a CUDA graph of one step. Each kind of step runs beside each kind of
kernel and beside the other kinds of steps, for SECONDS (1.4), without limits and with half of the
SMs for both. First comes a table of the kernels of each step: how many there are, how long they
take, how many thread blocks they have. Needs PyTorch 2 with Triton.
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tools/corun"))
import mps_pairs

PROMPT = 192  # tokens of the step with a prompt
LENGTH = 600  # tokens of a sequence that decodes


def steps():
    """By name: a function that makes the buffers, and returns one that launches a step."""
    import numpy as np
    import torch
    model, networks = [], []

    def llama(sequences, prompt):
        from llama import TABLE_WIDTH, Llama, Step
        if not model:
            model.append(Llama("3b", 64 * 1024 // 16))
            for row in range(256):
                model[0].host_table[row] = (np.arange(TABLE_WIDTH) * 7 + row * 13) % model[0].blocks
        step = Step(True)
        chunks = [(255, 0, np.zeros(prompt, dtype=np.int32))] if prompt else []
        step.fill(model[0].host_table, [(row, LENGTH, 5) for row in range(sequences)], chunks)
        model[0].upload(step)
        torch.cuda.synchronize()
        arrays = {name: view.clone() for name, view in model[0].arrays.items()}

        def launch():
            model[0].arrays = arrays  # its own: the steps are captured one after the other
            return model[0].forward(step).float().argmax(-1)
        return launch

    def diffusion(part):
        from diffusion import Pipeline
        if not networks:
            networks.append(Pipeline())
        pipeline = networks[0]
        latents = pipeline.latents()
        if part == "decoder":
            return lambda: pipeline.decode(latents)
        half = dict(device="cuda", dtype=torch.bfloat16)
        text, pooled = torch.randn(2, 333, 4096, **half), torch.randn(2, 2048, **half)
        return lambda: pipeline.denoise(latents, text, pooled, 3)

    return {
        "llm-16": lambda: llama(16, 0),
        "llm-64": lambda: llama(64, 0),
        "llm-prompt": lambda: llama(64, PROMPT),
        "denoise": lambda: diffusion("denoiser"),
        "decoder": lambda: diffusion("decoder"),
    }


def kernels(launch):
    """Of one step: {(name, thread blocks): [us]}."""
    import torch
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        launch()
        torch.cuda.synchronize()
    path = tempfile.mktemp(suffix=".json")
    profiler.export_chrome_trace(path)
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    os.unlink(path)
    found = collections.defaultdict(list)
    for event in events:
        if event.get("cat") == "kernel":
            x, y, z = event["args"]["grid"]
            found[event["name"].split("(")[0].split("<")[0][-40:], x * y * z].append(event["dur"])
    return found


def describe():
    """The table of kernels of each step."""
    import torch
    with torch.no_grad():
        for name, make in steps().items():
            launch = make()
            for _ in range(3):
                launch()
            torch.cuda.synchronize()
            for (kernel, blocks), us in sorted(kernels(launch).items(), key=lambda x: -sum(x[1])):
                print(f"kernel {name} {len(us)} x {sum(us) / len(us):.2f} us, {blocks} blocks, {kernel}")
    sys.stdout.flush()


def serve():
    """A worker of mps_pairs.py that knows the steps, too."""
    kinds = mps_pairs.kinds
    mps_pairs.kinds = lambda: {**kinds(), **steps()}
    mps_pairs.serve()


def main():
    """All steps alone, beside kernels and beside each other."""
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.4
    subprocess.run([sys.executable, __file__, "--describe"], check=True)
    mps_pairs.__file__ = __file__  # the workers are of this program
    with mps_pairs.daemon("mps-steps") as (mps, clocks):
        for limit in (None, 50):
            limits = {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(limit)} if limit else {}
            workers = [mps_pairs.Worker(dict(mps, **limits)) for _ in range(2)]
            for name in KERNELS + STEPS:
                for worker in workers:
                    worker.ask("make", name)
                for worker in workers:
                    worker.answer()
            print(f"# limits of both: {limit or 'none'}", flush=True)
            alone = {}
            for name in KERNELS + STEPS:
                (us,), mhz, watts = mps_pairs.together(workers[:1], [name], seconds, clocks)
                alone[name] = us
                print(f"alone {name} {us:.2f} us {mhz:.0f} MHz {watts:.0f} W", flush=True)
            pairs = [(step, kernel) for step in STEPS for kernel in KERNELS]
            pairs += [(a, b) for i, a in enumerate(STEPS) for b in STEPS[i:]]
            for a, b in pairs:
                (x, y), mhz, watts = mps_pairs.together(workers, [a, b], seconds, clocks)
                print(f"pair {a} {b} speeds {alone[a] / x:.3f} {alone[b] / y:.3f} "
                      f"{mhz:.0f} MHz {watts:.0f} W", flush=True)
            for worker in workers:
                worker.stop()


KERNELS = ["product-1024", "decode-32", "attention-4096", "convolution-64",
           "elements-128M", "elements-8M", "norm-32"]
STEPS = ["llm-16", "llm-64", "llm-prompt", "denoise", "decoder"]
if __name__ == "__main__":
    if "--serve" in sys.argv:
        serve()
    elif "--describe" in sys.argv:
        describe()
    else:
        main()
