# SPDX-License-Identifier: MIT OR GPL-2.0
# CuPy: sorting, reductions, a raw kernel, its memory pool and its stream-ordered allocator.
import hashlib

import cupy

numbers = cupy.random.RandomState(7).uniform(size=1 << 20, dtype=cupy.float32)
raw = cupy.RawKernel(
    'extern "C" __global__ void twist(float *x, int n)'
    "{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] = x[i] * 3.0f - x[(i + 7) % n] * 0.0f; }",
    "twist",
)
for _ in range(20):
    numbers = cupy.sort(numbers)
    raw(((1 << 20) // 256,), (256,), (numbers, numbers.size))
    numbers = (numbers - numbers.mean()) / 3
cupy.cuda.set_allocator(cupy.cuda.MemoryAsyncPool().malloc)
more = cupy.arange(1 << 18, dtype=cupy.float32)
for _ in range(20):
    more = cupy.sqrt(more + 1)
print("hash", hashlib.sha256(cupy.asnumpy(numbers).tobytes() + cupy.asnumpy(more).tobytes()).hexdigest()[:32])
