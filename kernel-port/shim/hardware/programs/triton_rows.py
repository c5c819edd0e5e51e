# SPDX-License-Identifier: MIT OR GPL-2.0
# Triton: a softmax over rows and a scaled sum, written as kernels of ours.
from common import finish, loop, torch
import triton
import triton.language as tl


@triton.jit
def softmax(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, values / tl.sum(values, axis=0), mask=at < columns)


@triton.jit
def add_scaled(x, y, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(x + at, tl.load(x + at, mask=inside) + factor * tl.load(y + at, mask=inside), mask=inside)


x = torch.randn(4096, 1000, device="cuda")
y = torch.empty_like(x)
softmax[(4096,)](y, x, 1000, BLOCK=1024)


def step(i):
    softmax[(4096,)](y, x, 1000, BLOCK=1024)
    add_scaled[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), 0.5, BLOCK=1024)


n, seconds = loop(step, 200)
finish([x, y], n, seconds)
