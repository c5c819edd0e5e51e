#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""FlashAttention 2 as an LLM server calls it: one kernel for the sequences of a step.

    flash_attention.py >RESULT

Llama-3.2-3B's shapes (24 heads of 128 over 8 of keys and values, bf16), one layer. "decode": each
sequence has one new token. "prefill": one sequence has all of them. "mixed": both in one call, as
vLLM's step with chunked prefill has it. Times are medians of five CUDA graphs; keys and values are
in sets of more than the L2 cache holds. Needs PyTorch 2.
"""

import torch

HEADS, KV_HEADS, SIZE = 24, 8, 128
L2_BYTES = 300e6


def tensor(tokens, heads):
    """Small random numbers."""
    return torch.empty(tokens, heads, SIZE, device="cuda", dtype=torch.bfloat16).normal_(0, .05)


def ends(lengths):
    """Where each sequence ends, from 0 on."""
    return torch.tensor([0] + lengths, device="cuda").cumsum(0).int()


def microseconds(calls):
    """Of a call, where calls are made in turn."""
    stream = torch.cuda.Stream()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.cuda.stream(stream):
        for call in calls:
            call()
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin()
        rounds = max(1, 24 // len(calls))
        for _ in range(rounds):
            for call in calls:
                call()
        graph.capture_end()
        times = []
        for _ in range(6):
            begin.record(stream)
            graph.replay()
            end.record(stream)
            stream.synchronize()
            times.append(begin.elapsed_time(end) * 1e3 / (rounds * len(calls)))
    return sorted(times[1:])[2]


def measure(kind, queries, contexts):
    """A call with so many new tokens and so much context in each sequence."""
    q = tensor(sum(queries), HEADS)
    total = sum(contexts)
    sets = max(1, min(8, int(L2_BYTES / (total * 4096)) + 1))
    kv = [(tensor(total, KV_HEADS), tensor(total, KV_HEADS)) for _ in range(sets)]
    q_ends, k_ends = ends(queries), ends(contexts)
    flash = torch.ops.aten._flash_attention_forward

    def call(k, v):
        return flash(q, k, v, q_ends, k_ends, max(queries), max(contexts), 0.0, True, False)

    time_us = microseconds([lambda k=k, v=v: call(k, v) for k, v in kv])
    decodes = sum(1 for n in queries if n == 1)
    print("flash", kind, "decodes", decodes, "context", contexts[0] if decodes else 0, "prefill",
          sum(n for n in queries if n > 1), f"{time_us:.2f}", flush=True)


def main():
    """All cases."""
    print("#", torch.cuda.get_device_name(), "torch", torch.__version__)
    with torch.inference_mode():
        for decodes in (1, 8, 32, 64, 128, 200):
            for context in (512, 993, 2048):
                measure("decode", [1] * decodes, [context] * decodes)
        for tokens in (128, 512, 641, 1024, 1848, 2048):
            measure("prefill", [tokens], [tokens])
        for decodes, context, tokens in ((8, 993, 641), (32, 993, 641), (64, 993, 641),
                                         (128, 993, 641), (200, 993, 641), (32, 993, 2016),
                                         (64, 993, 1984), (128, 993, 1920), (200, 993, 1848),
                                         (200, 512, 641), (200, 2048, 641), (64, 2048, 64),
                                         (64, 993, 64), (200, 993, 64)):
            measure("mixed", [1] * decodes + [tokens], [context] * decodes + [tokens])


if __name__ == "__main__":
    main()
