#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""Attention by Ampere's matrix instruction and by Hopper's, side by side.

    attention_kernels.py >RESULT

Llama-3.1-8B's shapes (32 heads of 128 over 8 of keys and values, bf16), one layer. "flash" is
FlashAttention 2 (mma.sync), "cudnn" is cuDNN's fused attention, which uses wgmma on Hopper as
FlashAttention 3 does. "prefill": one causal sequence. "decode": one new token for each sequence,
keys and values in sets of more than the L2 cache holds. Times are medians of five CUDA graphs, the
two kinds in turn. TFLOP/s count the causal half only. Needs PyTorch 2.5 and a Hopper GPU.
"""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

HEADS, KV_HEADS, SIZE = 32, 8, 128
KINDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
L2_BYTES = 300e6


def tensor(sequences, heads, tokens):
    """Small random numbers, tokens outside heads as a server's projections leave them."""
    t = torch.empty(sequences, tokens, heads, SIZE, device="cuda", dtype=torch.bfloat16)
    return t.normal_(0, .05).transpose(1, 2)


def graph_of(calls, rounds):
    """A CUDA graph of the calls in turn."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for call in calls:
            call()
        stream.synchronize()
        graph = torch.cuda.CUDAGraph()
        graph.capture_begin()
        for _ in range(rounds):
            for call in calls:
                call()
        graph.capture_end()
    stream.synchronize()
    return graph


def microseconds(graph, calls):
    """Of one call."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    graph.replay()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e3 / calls


def attend(backend, q, k, v, causal):
    """One call of one kind. Each query head has a key head of its own if the kind needs it."""
    with sdpa_kernel(backend):
        return scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)


def compare(label, q, sets, causal, flop):
    """Both kinds on the same numbers: one line each."""
    rounds = max(1, 24 // len(sets))
    calls = rounds * len(sets)
    graphs, first = {}, {}
    for kind, backend in KINDS.items():
        try:
            first[kind] = attend(backend, q, *sets[0], causal)
            work = [lambda k=k, v=v, b=backend: attend(b, q, k, v, causal) for k, v in sets]
            graphs[kind] = graph_of(work, rounds)
        except RuntimeError as error:
            print(kind, label, "refused:", str(error).splitlines()[0])
    times = {kind: [] for kind in graphs}
    for _ in range(6):
        for kind, graph in graphs.items():
            times[kind].append(microseconds(graph, calls))
    for kind in graphs:
        us = sorted(times[kind][1:])[2]
        far = (first[kind].float() - first["flash"].float()).abs().max().item()
        print(f"{kind} {label} us {us:.2f} tflops {flop / us / 1e6:.0f} differs {far:.1e}",
              flush=True)


def main():
    """Prints the GPU and all lines."""
    print("#", torch.cuda.get_device_name(0), "torch", torch.__version__, "cudnn",
          torch.backends.cudnn.version())
    for tokens in (128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768):
        q = tensor(1, HEADS, tokens)
        kv = [(tensor(1, KV_HEADS, tokens), tensor(1, KV_HEADS, tokens))]
        compare(f"prefill {tokens}", q, kv, True, 2 * HEADS * SIZE * tokens * (tokens + 1))
    for sequences in (1, 8, 32, 64, 128, 200):
        for context in (512, 1024, 2048, 8192):
            sets = max(1, min(8, int(L2_BYTES / (sequences * context * 4096)) + 1))
            q = tensor(sequences, HEADS, 1)
            kv = [(tensor(sequences, KV_HEADS, context), tensor(sequences, KV_HEADS, context))
                  for _ in range(sets)]
            compare(f"decode {sequences} context {context}", q, kv, False,
                    4 * HEADS * SIZE * sequences * context)


main()
