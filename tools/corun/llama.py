# SPDX-License-Identifier: MIT OR GPL-2.0
"""A Llama forward pass with random weights over a paged KV cache, eager, as vLLM launches it.

The shapes are those of the published configurations. A step has its decoding sequences first,
one token each, then its prefill chunks. Its integers go to the GPU in one copy.
"""

import numpy as np
import torch
import torch.nn.functional as F

from ops import PlainOps, Shapes, TritonOps

CONFIGS = {
    # Llama-3.2-3B and Llama-3.1-8B, config.json of the published models
    "3b": dict(layers=28, hidden=3072, heads=24, kv_heads=8, d=128, ffn=8192, vocab=128256),
    "8b": dict(layers=32, hidden=4096, heads=32, kv_heads=8, d=128, ffn=14336, vocab=128256),
    # two layers of the 3b, for checks on a GPU
    "3b-short": dict(layers=2, hidden=3072, heads=24, kv_heads=8, d=128, ffn=8192,
                     vocab=128256),
    # for checks without one
    "tiny": dict(layers=2, hidden=64, heads=6, kv_heads=2, d=16, ffn=96, vocab=128),
}
PAGE = 16  # tokens of a KV block
MAX_LENGTH = 8192  # tokens of a sequence
TABLE_WIDTH = MAX_LENGTH // PAGE + 8
MAX_SEQUENCES = 256
MAX_TOKENS = 4096  # of a step
MAX_QUERY_BLOCKS = 1024
EPSILON = 1e-5
ROPE_BASE = 500000.0

# Arrays of a step in the one buffer that is copied: name and length.
_ARRAYS = (
    ("token", MAX_TOKENS), ("position", MAX_TOKENS), ("slot", MAX_TOKENS),
    ("decode_length", MAX_SEQUENCES), ("decode_row", MAX_SEQUENCES),
    ("last", MAX_SEQUENCES),  # the row of each sequence's last token
    ("chunk_first", MAX_SEQUENCES), ("chunk_length", MAX_SEQUENCES),
    ("chunk_computed", MAX_SEQUENCES), ("chunk_row", MAX_SEQUENCES),
    ("block_chunk", MAX_QUERY_BLOCKS), ("block_offset", MAX_QUERY_BLOCKS),
)
_BUFFER = sum(length for _, length in _ARRAYS)


def _views(buffer):
    views, start = {}, 0
    for name, length in _ARRAYS:
        views[name] = buffer[start:start + length]
        start += length
    return views


class Step:
    """What one step computes: views into a buffer of integers on the host."""

    def __init__(self, pinned):
        self.buffer = torch.zeros(_BUFFER, dtype=torch.int32)
        if pinned:
            self.buffer = self.buffer.pin_memory()
        self.arrays = _views(self.buffer.numpy())
        self.tokens = self.decodes = self.chunks = self.query_blocks = self.max_length = 0

    @property
    def sequences(self):
        """So many tokens are sampled."""
        return self.decodes + self.chunks

    def fill(self, table, decodes, chunks):
        """decodes: (row of the table, position, token); chunks: (row, computed, tokens)."""
        a = self.arrays
        n = len(decodes)
        if n:
            row, position, token = (np.array(x, dtype=np.int32) for x in zip(*decodes))
            a["token"][:n], a["position"][:n] = token, position
            a["slot"][:n] = table[row, position // PAGE] * PAGE + position % PAGE
            a["decode_length"][:n], a["decode_row"][:n] = position + 1, row
            a["last"][:n] = np.arange(n)
            self.max_length = int(position.max()) + 1
        end, blocks = n, 0
        for i, (row, computed, tokens) in enumerate(chunks):
            first, count = end, len(tokens)
            end += count
            position = np.arange(computed, computed + count, dtype=np.int32)
            a["token"][first:end], a["position"][first:end] = tokens, position
            a["slot"][first:end] = table[row, position // PAGE] * PAGE + position % PAGE
            a["chunk_first"][i], a["chunk_length"][i] = first, count
            a["chunk_computed"][i], a["chunk_row"][i] = computed, row
            a["last"][n + i] = end - 1
            more = -(-count // Shapes.prefill_queries)
            a["block_chunk"][blocks:blocks + more] = i
            a["block_offset"][blocks:blocks + more] = \
                np.arange(more) * Shapes.prefill_queries
            blocks += more
        self.tokens, self.decodes, self.chunks = end, n, len(chunks)
        self.query_blocks = blocks

    def queries(self):
        """(row of the step, row of the table, tokens that it sees) of each query."""
        a = self.arrays
        for i in range(self.decodes):
            yield i, int(a["decode_row"][i]), int(a["decode_length"][i])
        for i in range(self.chunks):
            for j in range(int(a["chunk_length"][i])):
                yield (int(a["chunk_first"][i]) + j, int(a["chunk_row"][i]),
                       int(a["chunk_computed"][i]) + j + 1)


class Llama:
    """Weights, cache and forward pass. layers=N keeps only so many layers."""

    def __init__(self, name, blocks, device="cuda", dtype=torch.bfloat16, layers=None,
                 ops=None):
        config = self.config = dict(CONFIGS[name])
        config["layers"] = layers or config["layers"]
        self.device, self.dtype, self.blocks = device, dtype, blocks
        generator = torch.Generator(device=device)
        generator.manual_seed(0)

        def weight(*shape):
            return torch.empty(*shape, device=device, dtype=dtype).normal_(
                0, 0.02, generator=generator)

        hidden, d, ffn = config["hidden"], config["d"], config["ffn"]
        self.width = (config["heads"] + 2 * config["kv_heads"]) * d
        self.embedding = weight(config["vocab"], hidden)
        self.layers = [dict(norm1=weight(hidden) + 1, qkv=weight(self.width, hidden),
                            o=weight(hidden, config["heads"] * d), norm2=weight(hidden) + 1,
                            gate_up=weight(2 * ffn, hidden), down=weight(hidden, ffn))
                       for _ in range(config["layers"])]
        self.norm = weight(hidden) + 1
        self.caches = [tuple(torch.zeros(blocks * PAGE, config["kv_heads"] * d,
                                         device=device, dtype=dtype) for _ in range(2))
                       for _ in range(config["layers"])]
        frequency = 1.0 / ROPE_BASE ** (torch.arange(0, d, 2).float() / d)
        angle = torch.arange(TABLE_WIDTH * PAGE).float()[:, None] * frequency[None]
        self.rope_table = torch.cat([angle.cos(), angle.sin()], 1).to(device).contiguous()

        gpu = str(device) != "cpu"
        self.ops = (ops or (TritonOps if gpu else PlainOps))(
            config, MAX_SEQUENCES, PAGE, device)
        self.buffer = torch.zeros(_BUFFER, dtype=torch.int32, device=device)
        self.arrays = _views(self.buffer)
        host_table = torch.zeros(MAX_SEQUENCES, TABLE_WIDTH, dtype=torch.int32)
        self._host_table = host_table.pin_memory() if gpu else host_table
        self.host_table = self._host_table.numpy()  # block numbers, a row for each sequence
        self.table = torch.zeros_like(host_table, device=device)

    def upload(self, step):
        """Copy the step's integers and the block table to the GPU."""
        self.buffer.copy_(step.buffer, non_blocking=True)
        self.table.copy_(self._host_table, non_blocking=True)

    def forward(self, step):
        """Logits of the last token of each sequence. 10 or 11 kernels a layer."""
        ops, arrays, tokens = self.ops, self.arrays, step.tokens
        residual = F.embedding(arrays["token"][:tokens], self.embedding)
        x = None
        for layer, cache in zip(self.layers, self.caches):
            h = ops.add_rms_norm(x, residual, layer["norm1"], EPSILON)
            qkv = F.linear(h, layer["qkv"])
            ops.rope(qkv, arrays["position"], self.rope_table)
            ops.kv_write(qkv, cache, arrays["slot"])
            h = ops.attention(qkv, cache, self.table, arrays, step)
            x = F.linear(h, layer["o"])
            h = ops.add_rms_norm(x, residual, layer["norm2"], EPSILON)
            h = ops.silu_mul(F.linear(h, layer["gate_up"]))
            x = F.linear(h, layer["down"])
        h = ops.add_rms_norm(x, residual, self.norm, EPSILON)
        return F.linear(h.index_select(0, arrays["last"][:step.sequences]), self.embedding)

    def run(self, step):
        """Upload, forward pass, greedy sampling. Returns tokens on the GPU, not waited for."""
        self.upload(step)
        return self.forward(step).float().argmax(-1)
