# SPDX-License-Identifier: MIT OR GPL-2.0
"""The operators of a Llama step that PyTorch has no kernel for, in two forms.

TritonOps launches one kernel for each, as vLLM does. PlainOps is plain PyTorch: it runs without
a GPU, and the check compares the kernels with it in float64.
"""

import math

import torch

LOG2_E = 1.4426950408889634
MAX_SPLITS = 32


class Shapes:
    """Of the kernels: how much a program of a kernel does. The best of ten on an H200."""
    decode_block = 128
    decode_warps = 4
    decode_stages = 3
    decode_waves = 4  # a context is split until there are so many programs for each SM
    prefill_queries = 64
    prefill_block = 64
    prefill_warps = 4
    prefill_stages = 3


class TritonOps:
    """On a GPU."""

    def __init__(self, config, max_sequences, page, device):
        import kernels
        import triton
        self.kernels, self.triton = kernels, triton
        self.config, self.page = config, page
        heads, d = config["heads"], config["d"]
        self.group = heads // config["kv_heads"]
        self.group_padded = max(16, triton.next_power_of_2(self.group))
        self.width = (heads + 2 * config["kv_heads"]) * d
        self.scale = LOG2_E / math.sqrt(d)
        self.sms = torch.cuda.get_device_properties(device).multi_processor_count
        parts = max_sequences * heads * MAX_SPLITS
        self.part_out = torch.empty(parts * d, device=device, dtype=torch.float32)
        self.part_log = torch.empty(parts, device=device, dtype=torch.float32)

    def add_rms_norm(self, x, residual, weight, epsilon):
        """Normalised x + residual, which residual becomes; of residual alone if x is None."""
        out = torch.empty_like(residual)
        rows, n = residual.shape
        self.kernels.add_rms_norm[(rows,)](
            residual if x is None else x, residual, weight, out, epsilon, n,
            self.triton.next_power_of_2(n), x is not None, num_warps=8)
        return out

    def rope(self, qkv, positions, table):
        """Turn queries and keys in place."""
        heads = self.config["heads"] + self.config["kv_heads"]
        self.kernels.rope[(qkv.shape[0],)](
            qkv, positions, table, self.width, heads, self.triton.next_power_of_2(heads),
            self.config["d"] // 2, num_warps=4)

    def kv_write(self, qkv, cache, slots):
        """Put the tokens' keys and values into cache, (keys, values) of a layer."""
        config = self.config
        self.kernels.kv_write[(qkv.shape[0],)](
            qkv, *cache, slots, self.width, config["heads"] * config["d"],
            config["kv_heads"] * config["d"], num_warps=4)

    def silu_mul(self, gate_up):
        """silu(gate) * up."""
        tokens, n = gate_up.shape[0], gate_up.shape[1] // 2
        out = torch.empty(tokens, n, device=gate_up.device, dtype=gate_up.dtype)
        self.kernels.silu_mul[(tokens, self.triton.cdiv(n, 2048))](
            gate_up, out, n, 2048, num_warps=4)
        return out

    def splits(self, step):
        """Into how many parts a decoding context is split: a power of two."""
        if not step.decodes:
            return 1
        wanted = Shapes.decode_waves * self.sms / (step.decodes * self.config["kv_heads"])
        splits = 1
        while splits < wanted and splits < MAX_SPLITS and step.max_length > splits * 128:
            splits *= 2
        return splits

    def attention(self, qkv, cache, table, arrays, step, splits=None):
        """Paged attention of the step's decoding sequences and of its prefill chunks."""
        config = self.config
        heads, kv_heads, d = config["heads"], config["kv_heads"], config["d"]
        out = torch.empty(step.tokens, heads * d, device=qkv.device, dtype=qkv.dtype)
        if step.decodes:
            splits = splits or self.splits(step)
            self.kernels.decode_attention[(step.decodes, kv_heads, splits)](
                qkv, *cache, table, arrays["decode_length"], arrays["decode_row"], out,
                self.part_out, self.part_log, self.scale, self.width, table.shape[1],
                kv_heads, self.group, self.group_padded, d, self.page, Shapes.decode_block,
                splits, num_warps=Shapes.decode_warps, num_stages=Shapes.decode_stages)
            if splits > 1:
                self.kernels.combine[(step.decodes * heads,)](
                    self.part_out, self.part_log, out, d, splits, num_warps=4)
        if step.query_blocks:
            self.kernels.prefill_attention[(step.query_blocks, heads)](
                qkv, *cache, table, out, arrays["block_chunk"], arrays["block_offset"],
                arrays["chunk_first"], arrays["chunk_length"], arrays["chunk_computed"],
                arrays["chunk_row"], self.scale, self.width, table.shape[1], kv_heads,
                self.group, d, self.page, Shapes.prefill_queries, Shapes.prefill_block,
                num_warps=Shapes.prefill_warps, num_stages=Shapes.prefill_stages)
        return out


class PlainOps:
    """Without a GPU, and as a reference: the same functions, far slower."""

    def __init__(self, config, max_sequences, page, device):
        self.config, self.page = config, page

    def add_rms_norm(self, x, residual, weight, epsilon):
        """As TritonOps.add_rms_norm()."""
        if x is not None:
            residual += x
        value = residual.float()
        scale = torch.rsqrt(value.pow(2).mean(-1, keepdim=True) + epsilon)
        return (value * scale * weight.float()).to(residual.dtype)

    def rope(self, qkv, positions, table):
        """As TritonOps.rope()."""
        config = self.config
        heads, half = config["heads"] + config["kv_heads"], config["d"] // 2
        view = qkv[:, :heads * 2 * half].view(qkv.shape[0], heads, 2 * half)
        turn = table[positions[:qkv.shape[0]].long()][:, None]
        cos, sin = turn[..., :half], turn[..., half:]
        a, b = view[..., :half].float(), view[..., half:].float()
        new_a, new_b = a * cos - b * sin, b * cos + a * sin
        view[..., :half] = new_a.to(qkv.dtype)
        view[..., half:] = new_b.to(qkv.dtype)

    def kv_write(self, qkv, cache, slots):
        """As TritonOps.kv_write()."""
        config = self.config
        first, width = config["heads"] * config["d"], config["kv_heads"] * config["d"]
        where = slots[:qkv.shape[0]].long()
        cache[0][where] = qkv[:, first:first + width]
        cache[1][where] = qkv[:, first + width:first + 2 * width]

    def silu_mul(self, gate_up):
        """As TritonOps.silu_mul()."""
        gate, up = gate_up.float().chunk(2, -1)
        return (gate * torch.sigmoid(gate) * up).to(gate_up.dtype)

    def context(self, cache, table, row, length):
        """Keys and values of a sequence's first tokens, in float64: [length, heads, d]."""
        config = self.config
        token = torch.arange(length, device=table.device)
        where = table[row, token // self.page].long() * self.page + token % self.page
        group = config["heads"] // config["kv_heads"]
        return [part[where].view(length, config["kv_heads"], config["d"]).double()
                .repeat_interleave(group, 1) for part in cache]

    def attention(self, qkv, cache, table, arrays, step, splits=None):
        """As TritonOps.attention(), a query after the other in float64."""
        config = self.config
        heads, d = config["heads"], config["d"]
        out = torch.empty(step.tokens, heads * d, device=qkv.device, dtype=qkv.dtype)
        for query, row, length in step.queries():
            keys, values = self.context(cache, table, row, length)
            q = qkv[query, :heads * d].view(heads, d).double()
            score = torch.einsum("hd,khd->hk", q, keys) / math.sqrt(d)
            result = torch.einsum("hk,khd->hd", score.softmax(-1), values)
            out[query] = result.reshape(-1).to(out.dtype)
        return out
