#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""How often FlashAttention 2 reads keys and values from memory.

    ncu --clock-control none --cache-control none --kernel-name regex:flash --csv --page raw \
        --metrics dram__bytes_read.sum,gpu__time_duration.sum flash_traffic.py >COUNTERS

Llama-3.2-3B's shapes, one layer (24 query heads, 3 of which share each of 8 key heads, of 128 elements, bf16).
One call a case, after a write to more memory than the L2 cache holds: sequences with one new token each, and
one with a prompt. A line "case" has the bytes of the keys and values of the sequences that decode. Needs
PyTorch 2.
"""
import torch

HEADS, KV_HEADS, SIZE = 24, 8, 128
CASES = ((16, 993, 641), (32, 993, 641), (48, 993, 641), (64, 993, 641), (96, 993, 641), (128, 993, 641),
         (200, 993, 641), (200, 512, 641), (200, 993, 1848), (64, 2048, 641), (200, 993, 0), (64, 993, 0))


def tensor(tokens, heads):
    """Small random numbers."""
    return torch.empty(tokens, heads, SIZE, device="cuda", dtype=torch.bfloat16).normal_(0, .05)


def ends(lengths):
    """Where each sequence ends, from 0 on."""
    return torch.tensor([0] + lengths, device="cuda").cumsum(0).int()


def main():
    """All cases."""
    flash = torch.ops.aten._flash_attention_forward
    scrub = torch.empty(200 << 20, device="cuda", dtype=torch.uint8)
    print("l2", torch.cuda.get_device_properties(0).L2_cache_size)
    with torch.inference_mode():
        for decodes, context, prompt in CASES:
            queries = [1] * decodes + [prompt] * (prompt > 0)
            contexts = [context] * decodes + [prompt] * (prompt > 0)
            q, k, v = (tensor(sum(n), heads) for n, heads in
                       ((queries, HEADS), (contexts, KV_HEADS), (contexts, KV_HEADS)))
            scrub.zero_()
            flash(q, k, v, ends(queries), ends(contexts), max(queries), max(contexts), 0.0, True, False)
            torch.cuda.synchronize()
            print("case", decodes, context, prompt, decodes * context * KV_HEADS * SIZE * 4, flush=True)


if __name__ == "__main__":
    main()
