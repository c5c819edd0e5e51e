#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""A continuous-batching LLM server: vLLM V1's rules, eager kernels, random weights.

corun.py starts it. Answers have the lengths of the trace. There is no HTTP, no tokeniser, no
prefix cache, and the server waits for the GPU in each step.
"""

import argparse
import csv
import gc
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

import logs
import worker
from llama import (MAX_LENGTH, MAX_SEQUENCES, PAGE, TABLE_WIDTH, Llama, Step)
from llm_scheduler import Request, Scheduler

MAX_PROMPT = MAX_LENGTH - 1


def read_arrivals(path, seconds):
    """The requests of the first seconds, see arrivals.py."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return [Request(i, round(float(row["t_trace_s"]) * 1e6), int(row["request_tokens"]),
                    int(row["response_tokens_gvm_generated"]))
            for i, row in enumerate(rows) if float(row["t_trace_s"]) < seconds]


class Server:
    """A model, and the scheduler of the current run."""

    def __init__(self, model, kv_tokens, budget, device):
        self.gpu = device != "cpu"
        self.budget = budget
        self.model = Llama(model, kv_tokens // PAGE, device,
                           torch.bfloat16 if self.gpu else torch.float32)
        self.step_input = Step(self.gpu)
        self.random = np.random.RandomState(1)
        self.prompt = self.random.randint(0, self.model.config["vocab"],
                                          2 * MAX_LENGTH).astype(np.int32)
        self.sampled = torch.zeros(MAX_SEQUENCES, dtype=torch.int64)
        if self.gpu:
            self.sampled = self.sampled.pin_memory()
            self.begin, self.end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self.reset()

    def reset(self):
        """A new scheduler with all blocks free, in a random order."""
        def place(row, index, blocks):
            self.model.host_table[row, index:index + len(blocks)] = blocks

        self.scheduler = Scheduler(self.random.permutation(self.model.blocks).tolist(),
                                   self.budget, MAX_SEQUENCES, PAGE, MAX_LENGTH,
                                   MAX_SEQUENCES, place)
        self.steps = []

    def compute(self):
        """Run the filled step. Returns (tokens, ns of launching, of waiting, us on the GPU)."""
        begin = time.monotonic_ns()
        if not self.gpu:
            tokens = self.model.run(self.step_input).tolist()
            return tokens, 0, time.monotonic_ns() - begin, 0
        n = self.step_input.sequences
        self.begin.record()
        self.sampled[:n].copy_(self.model.run(self.step_input), non_blocking=True)
        self.end.record()
        launched = time.monotonic_ns()
        self.end.synchronize()
        waited = time.monotonic_ns()
        gpu_us = int(self.begin.elapsed_time(self.end) * 1e3)
        return self.sampled[:n].tolist(), launched - begin, waited - launched, gpu_us

    def step(self, start_ns):
        """Schedule, compute and book one step."""
        begin = time.monotonic_ns()
        decodes, prefills = self.scheduler.schedule()
        self.step_input.fill(
            self.model.host_table, [(r.row, r.computed, r.last_token) for r in decodes],
            [(r.row, r.computed, self.prompt[(r.number * 37 + r.computed) % MAX_LENGTH:]
              [:r.scheduled]) for r in prefills])
        kv_tokens = sum(r.computed + r.scheduled for r in decodes + prefills)
        pairs = sum(r.computed * r.scheduled + r.scheduled * (r.scheduled + 1) // 2
                    for r in prefills)
        prefill_tokens = sum(r.scheduled for r in prefills)
        scheduled = time.monotonic_ns()
        tokens, launch_ns, wait_ns, gpu_us = self.compute()
        computed = time.monotonic_ns()
        self.scheduler.finish_step(decodes + prefills, tokens, (computed - start_ns) // 1000)
        self.steps.append((
            (begin - start_ns) // 1000, (scheduled - begin) // 1000, launch_ns // 1000,
            wait_ns // 1000, (time.monotonic_ns() - computed) // 1000, gpu_us,
            prefill_tokens, len(decodes), len(prefills), kv_tokens, pairs,
            len(self.scheduler.waiting)))

    def warm_up(self, short):
        """Each kernel, and most shapes of matrix products, once: no run compiles or loads."""
        table = self.model.host_table
        for row in range(MAX_SEQUENCES):
            table[row] = (np.arange(TABLE_WIDTH) * 7 + row * 13) % self.model.blocks
        cases = []  # (decoding sequences, their length, tokens of a chunk)
        if short or not self.gpu:
            cases = [(1, 20, 0), (3, 200, 0), (20, 900, 0), (0, 0, 40), (2, 20, 40)]
        else:
            for n in list(range(1, 8)) + list(range(8, MAX_SEQUENCES + 1, 8)):
                lengths = (1, 200, 400, 900, 1800, 4000) if n < 40 else (900,)
                cases += [(n, length, 0) for length in lengths]
            for tokens in list(range(8, 2048, 40)) + [2047, 2048]:
                n = min(tokens // 8, 100)
                cases.append((n, 300, tokens - n))
            cases.append((250, 300, 1798))
        for _ in range(1 if short else 2):
            for n, length, tokens in cases:
                chunks = [(MAX_SEQUENCES - 1, 0, self.prompt[:tokens])] if tokens else []
                self.step_input.fill(table, [(row, length, 5) for row in range(n)], chunks)
                self.model.run(self.step_input).cpu()

    def run(self, start_ns, seconds, drain_s, prefix, settings):
        """Serve the arrivals of settings["arrivals"]; see worker.serve()."""
        requests = read_arrivals(settings["arrivals"], seconds)
        self.reset()
        rejected = {r for r in requests
                    if r.prompt_tokens > MAX_PROMPT or not self.scheduler.fits(r)}
        arrivals = [r for r in requests if r not in rejected]
        end_ns = start_ns + int((seconds + drain_s) * 1e9)
        gc.collect()
        gc.freeze()
        gc.disable()  # a collection would look like a slow step
        worker.wait_until(start_ns)
        arrived = 0
        while (now_ns := time.monotonic_ns()) < end_ns:
            now_us = (now_ns - start_ns) // 1000
            while arrived < len(arrivals) and arrivals[arrived].arrival_us <= now_us:
                self.scheduler.waiting.append(arrivals[arrived])
                arrived += 1
            if self.scheduler.waiting or self.scheduler.running:
                self.step(start_ns)
            elif arrived < len(arrivals):
                worker.wait_until(min(start_ns + arrivals[arrived].arrival_us * 1000, end_ns))
            else:
                break
        gc.enable()
        logs.write_requests(prefix + ".requests.json", start_ns, requests, rejected)
        logs.write_rows(prefix + ".steps.csv", logs.STEP_COLUMNS, self.steps)
        return dict(requests=len(requests), rejected=len(rejected), steps=len(self.steps),
                    completed=sum(r.ended for r in requests),
                    preemptions=self.scheduler.preemptions)


def main():
    """Load, warm up, serve."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="3b")
    parser.add_argument("--kv-tokens", type=int, default=300000)
    parser.add_argument("--budget", type=int, default=2048, help="tokens of a step")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--short-warm-up", action="store_true")
    arguments = parser.parse_args()
    begin = time.monotonic()
    with torch.inference_mode():
        server = Server(arguments.model, arguments.kv_tokens, arguments.budget,
                        arguments.device)
        loaded = time.monotonic()
        server.warm_up(arguments.short_warm_up)
        worker.serve("llm", server.run, load_s=round(loaded - begin, 1),
                     warm_up_s=round(time.monotonic() - loaded, 1),
                     memory_bytes=torch.cuda.memory_reserved() if server.gpu else 0)


if __name__ == "__main__":
    main()
