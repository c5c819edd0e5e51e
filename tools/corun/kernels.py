# SPDX-License-Identifier: MIT OR GPL-2.0
"""Triton kernels of a Llama step over a paged KV cache: vLLM's custom operators, a launch each.

The KV cache of a layer is [blocks * PAGE, KV_HEADS, D]; a block table has a row of block
numbers for each slot. A step computes its decoding sequences first, one token each, then its
prefill chunks. ops.py has the same functions in plain PyTorch.
"""

import triton
import triton.language as tl


@triton.jit
def add_rms_norm(x, residual, weight, out, epsilon, N: tl.constexpr, BLOCK: tl.constexpr,
                 ADD: tl.constexpr):
    """out = rms_norm(x + residual) * weight; the sum is the new residual."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < N
    value = tl.load(x + row * N + column, mask=inside, other=0.0).to(tl.float32)
    if ADD:
        value = value + tl.load(residual + row * N + column, mask=inside,
                                other=0.0).to(tl.float32)
        tl.store(residual + row * N + column, value, mask=inside)
    variance = tl.sum(value * value, 0) / N
    gain = tl.load(weight + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * N + column, value * (1.0 / tl.sqrt(variance + epsilon)) * gain,
             mask=inside)


@triton.jit
def rope(qkv, positions, table, STRIDE: tl.constexpr, HEADS: tl.constexpr,
         HEADS_PADDED: tl.constexpr, HALF: tl.constexpr):
    """Turn queries and keys, which lie first in a row of qkv, by their position."""
    token = tl.program_id(0).to(tl.int64)
    position = tl.load(positions + token).to(tl.int64)
    head = tl.arange(0, HEADS_PADDED)[:, None]
    d = tl.arange(0, HALF)[None, :]
    cos = tl.load(table + position * 2 * HALF + d)
    sin = tl.load(table + position * 2 * HALF + HALF + d)
    base = qkv + (token * STRIDE + head * 2 * HALF + d)
    inside = (head < HEADS) & (d < HALF)
    a = tl.load(base, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(base + HALF, mask=inside, other=0.0).to(tl.float32)
    tl.store(base, a * cos - b * sin, mask=inside)
    tl.store(base + HALF, b * cos + a * sin, mask=inside)


@triton.jit
def kv_write(qkv, keys, values, slots, STRIDE: tl.constexpr, KEY_OFFSET: tl.constexpr,
             WIDTH: tl.constexpr):
    """Put keys and values of the step's tokens into the cache."""
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots + token).to(tl.int64)
    column = tl.arange(0, WIDTH)
    source = qkv + token * STRIDE + KEY_OFFSET + column
    tl.store(keys + slot * WIDTH + column, tl.load(source))
    tl.store(values + slot * WIDTH + column, tl.load(source + WIDTH))


@triton.jit
def silu_mul(x, out, N: tl.constexpr, BLOCK: tl.constexpr):
    """out = silu(gate) * up, where a row of x is gate, then up."""
    token = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < N
    gate = tl.load(x + token * 2 * N + column, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(x + token * 2 * N + N + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + token * N + column, gate * tl.sigmoid(gate) * up, mask=inside)


@triton.jit
def decode_attention(qkv, keys, values, block_table, lengths, rows, out, part_out, part_log,
                     scale, STRIDE: tl.constexpr, TABLE_WIDTH: tl.constexpr,
                     KV_HEADS: tl.constexpr, GROUP: tl.constexpr,
                     GROUP_PADDED: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr,
                     BLOCK_N: tl.constexpr, SPLITS: tl.constexpr):
    """Attention of one token for each decoding sequence.

    A program has a sequence, a KV head with its GROUP of query heads, and one of SPLITS parts
    of the context. The parts go to part_out and part_log, which combine() joins.
    """
    sequence = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    split = tl.program_id(2)
    length = tl.load(lengths + sequence)
    table = tl.load(rows + sequence).to(tl.int64) * TABLE_WIDTH
    part = tl.cdiv(tl.cdiv(length, SPLITS), BLOCK_N) * BLOCK_N
    low = split * part
    high = tl.minimum(low + part, length)
    g = tl.arange(0, GROUP_PADDED)
    d = tl.arange(0, D)
    n = tl.arange(0, BLOCK_N)
    in_group = (g < GROUP)[:, None]
    q = tl.load(qkv + (sequence * STRIDE + (head * GROUP + g)[:, None] * D + d[None, :]),
                mask=in_group, other=0.0)
    highest = tl.full([GROUP_PADDED], -1.0e30, tl.float32)
    total = tl.zeros([GROUP_PADDED], tl.float32)
    result = tl.zeros([GROUP_PADDED, D], tl.float32)
    for start in range(low, high, BLOCK_N):
        token = start + n
        inside = token < high
        block = tl.load(block_table + table + token // PAGE, mask=inside,
                        other=0).to(tl.int64)
        row = (block * PAGE + token % PAGE) * KV_HEADS + head
        k = tl.load(keys + (row[None, :] * D + d[:, None]), mask=inside[None, :], other=0.0)
        score = tl.dot(q, k) * scale
        score = tl.where(inside[None, :], score, -1.0e30)
        new_highest = tl.maximum(highest, tl.max(score, 1))
        p = tl.exp2(score - new_highest[:, None])
        fade = tl.exp2(highest - new_highest)
        total = total * fade + tl.sum(p, 1)
        v = tl.load(values + (row[:, None] * D + d[None, :]), mask=inside[:, None], other=0.0)
        result = result * fade[:, None] + tl.dot(p.to(v.dtype), v)
        highest = new_highest
    if SPLITS == 1:
        tl.store(out + (sequence * (KV_HEADS * GROUP * D) + (head * GROUP + g)[:, None] * D
                        + d[None, :]), result / total[:, None], mask=in_group)
    else:
        o = (sequence * (KV_HEADS * GROUP) + head * GROUP + g) * SPLITS + split
        safe = tl.where(total > 0.0, total, 1.0)
        tl.store(part_out + (o[:, None] * D + d[None, :]), result / safe[:, None],
                 mask=in_group)
        tl.store(part_log + o, tl.where(total > 0.0, highest + tl.log2(safe), -1.0e30),
                 mask=g < GROUP)


@triton.jit
def combine(part_out, part_log, out, D: tl.constexpr, SPLITS: tl.constexpr):
    """Join the parts that decode_attention() split a context into."""
    row = tl.program_id(0).to(tl.int64)
    split = tl.arange(0, SPLITS)
    d = tl.arange(0, D)
    log = tl.load(part_log + row * SPLITS + split)
    weight = tl.exp2(log - tl.max(log, 0))
    part = tl.load(part_out + (row * SPLITS + split)[:, None] * D + d[None, :])
    tl.store(out + row * D + d, tl.sum(part * weight[:, None], 0) / tl.sum(weight, 0))


@triton.jit
def prefill_attention(qkv, keys, values, block_table, out, chunk_of, offset_of, first_row,
                      lengths, computed, rows, scale, STRIDE: tl.constexpr,
                      TABLE_WIDTH: tl.constexpr, KV_HEADS: tl.constexpr,
                      GROUP: tl.constexpr, D: tl.constexpr, PAGE: tl.constexpr,
                      BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """Causal attention of prefill chunks. A program has BLOCK_M queries of a chunk, a head."""
    block_of_queries = tl.program_id(0)
    head = tl.program_id(1)
    chunk = tl.load(chunk_of + block_of_queries)
    offset = tl.load(offset_of + block_of_queries)
    first = tl.load(first_row + chunk)
    length = tl.load(lengths + chunk)
    before = tl.load(computed + chunk)
    table = tl.load(rows + chunk).to(tl.int64) * TABLE_WIDTH
    m = offset + tl.arange(0, BLOCK_M)
    d = tl.arange(0, D)
    n = tl.arange(0, BLOCK_N)
    inside_chunk = (m < length)[:, None]
    query_row = (first + m).to(tl.int64)
    q = tl.load(qkv + (query_row[:, None] * STRIDE + head * D + d[None, :]),
                mask=inside_chunk, other=0.0)
    kv_head = head // GROUP
    end = tl.minimum(before + offset + BLOCK_M, before + length)
    highest = tl.full([BLOCK_M], -1.0e30, tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    result = tl.zeros([BLOCK_M, D], tl.float32)
    for start in range(0, end, BLOCK_N):
        token = start + n
        inside = token < end
        block = tl.load(block_table + table + token // PAGE, mask=inside,
                        other=0).to(tl.int64)
        row = (block * PAGE + token % PAGE) * KV_HEADS + kv_head
        k = tl.load(keys + (row[None, :] * D + d[:, None]), mask=inside[None, :], other=0.0)
        score = tl.dot(q, k) * scale
        score = tl.where(token[None, :] <= (before + m)[:, None], score, -1.0e30)
        new_highest = tl.maximum(highest, tl.max(score, 1))
        p = tl.exp2(score - new_highest[:, None])
        fade = tl.exp2(highest - new_highest)
        total = total * fade + tl.sum(p, 1)
        v = tl.load(values + (row[:, None] * D + d[None, :]), mask=inside[:, None], other=0.0)
        result = result * fade[:, None] + tl.dot(p.to(v.dtype), v)
        highest = new_highest
    tl.store(out + (query_row[:, None] * (KV_HEADS * GROUP * D) + head * D + d[None, :]),
             result / total[:, None], mask=inside_chunk)
