#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""A transformer whose kernels Triton compiles, run by CUDA's driver library alone.

    python3 triton_model.py compile FOLDER          needs Triton, PyTorch and a GPU: writes the PTX
    python3 triton_model.py run FOLDER PASSES [START]   needs neither: hash of the result, passes a second

"run" finds libcuda.so.1 as the loader does, so a shim or gvmfenced's client library can stand in its
place. START: a time in seconds since 1970 at which all tenants begin."""
import ctypes
import hashlib
import json
import os
import re
import sys
import time

TOKENS, WIDTH, HIDDEN, HEADS, LAYERS = 2048, 1024, 4096, 16, 6
SEQUENCE = 1024


def compile_kernels(folder):
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def fill(out, SEED: tl.constexpr, SCALE: tl.constexpr, COUNT: tl.constexpr, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        x = (at + SEED) * 747796405 + 1013904223
        x = ((x >> ((x >> 28) & 15)) ^ x) * 277803737
        x = (x >> 22) ^ x
        value = (x & 0xffff).to(tl.float32) / 65536.0 - 0.5
        tl.store(out + at, (value * SCALE).to(tl.float16), mask=at < COUNT)

    @triton.jit
    def layernorm(x, y, WIDTH: tl.constexpr):
        row = tl.program_id(0) * WIDTH + tl.arange(0, WIDTH)
        v = tl.load(x + row).to(tl.float32)
        v = v - tl.sum(v, 0) / WIDTH
        v = v / tl.sqrt(tl.sum(v * v, 0) / WIDTH + 1e-5)
        tl.store(y + row, v.to(tl.float16))

    @triton.jit
    def matmul(a, b, c, base, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GELU: tl.constexpr,
               ADD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
        rows = tl.program_id(0) * BM + tl.arange(0, BM)
        columns = tl.program_id(1) * BN + tl.arange(0, BN)
        k = tl.arange(0, BK)
        pa = a + rows[:, None] * K + k[None, :]
        pb = b + k[:, None] * N + columns[None, :]
        sums = tl.zeros((BM, BN), dtype=tl.float32)
        for _ in range(0, K, BK):
            sums += tl.dot(tl.load(pa), tl.load(pb))
            pa += BK
            pb += BK * N
        at = rows[:, None] * N + columns[None, :]
        if GELU:
            sums = sums * tl.sigmoid(1.702 * sums)
        if ADD:
            sums += tl.load(base + at).to(tl.float32)
        tl.store(c + at, sums.to(tl.float16))

    @triton.jit
    def attention(q, k, v, out, WIDTH: tl.constexpr, DIM: tl.constexpr, SEQUENCE: tl.constexpr,
                  BM: tl.constexpr, BN: tl.constexpr):
        first = tl.program_id(2) * SEQUENCE
        rows = first + tl.program_id(0) * BM + tl.arange(0, BM)
        columns = tl.program_id(1) * DIM + tl.arange(0, DIM)
        query = tl.load(q + rows[:, None] * WIDTH + columns[None, :])
        largest = tl.full((BM,), -1e30, dtype=tl.float32)
        total = tl.zeros((BM,), dtype=tl.float32)
        sums = tl.zeros((BM, DIM), dtype=tl.float32)
        for start in range(0, SEQUENCE, BN):
            keys = first + start + tl.arange(0, BN)
            key = tl.load(k + keys[None, :] * WIDTH + columns[:, None])
            score = tl.dot(query, key) * 0.125
            now = tl.maximum(largest, tl.max(score, 1))
            weight = tl.exp(score - now[:, None])
            fade = tl.exp(largest - now)
            total = total * fade + tl.sum(weight, 1)
            value = tl.load(v + keys[:, None] * WIDTH + columns[None, :])
            sums = sums * fade[:, None] + tl.dot(weight.to(tl.float16), value)
            largest = now
        tl.store(out + rows[:, None] * WIDTH + columns[None, :], (sums / total[:, None]).to(tl.float16))

    def tensor(*shape):
        return torch.zeros(shape, device="cuda", dtype=torch.float16)

    kept = {}

    def keep(name, compiled, grid):
        ptx = compiled.asm["ptx"]
        entry = re.search(r"\.entry\s+(\w+)\s*\(([^)]*)\)", ptx)
        with open(os.path.join(folder, name + ".ptx"), "w") as file:
            file.write(ptx)
        kept[name] = {"entry": entry.group(1), "parameters": entry.group(2).count(".param"),
                      "shared": compiled.metadata.shared, "warps": compiled.metadata.num_warps, "grid": grid}

    x, wide, up, down = tensor(TOKENS, WIDTH), tensor(TOKENS, HIDDEN), tensor(WIDTH, HIDDEN), tensor(HIDDEN, WIDTH)
    square, y, z = tensor(WIDTH, WIDTH), tensor(TOKENS, WIDTH), tensor(TOKENS, WIDTH)
    for name, scale, count in (("fill_x", 2.0, TOKENS * WIDTH), ("fill_square", 0.08, WIDTH * WIDTH),
                               ("fill_up", 0.08, WIDTH * HIDDEN)):
        grid = (count // 1024, 1, 1)
        keep(name, fill[grid](wide, 17, scale, count, 1024), grid)
    keep("layernorm", layernorm[(TOKENS, 1, 1)](x, y, WIDTH), (TOKENS, 1, 1))
    tiles = dict(BM=64, BN=64, BK=32, num_warps=4, num_stages=3)
    grid = (TOKENS // 64, WIDTH // 64, 1)
    keep("project", matmul[grid](x, square, y, y, TOKENS, WIDTH, WIDTH, False, False, **tiles), grid)
    keep("project_add", matmul[grid](x, square, y, z, TOKENS, WIDTH, WIDTH, False, True, **tiles), grid)
    keep("down_add", matmul[grid](wide, down, y, z, TOKENS, WIDTH, HIDDEN, False, True, **tiles), grid)
    grid = (TOKENS // 64, HIDDEN // 64, 1)
    keep("up_gelu", matmul[grid](x, up, wide, wide, TOKENS, HIDDEN, WIDTH, True, False, **tiles), grid)
    grid = (SEQUENCE // 64, HEADS, TOKENS // SEQUENCE)
    q, k, v = tensor(TOKENS, WIDTH), tensor(TOKENS, WIDTH), tensor(TOKENS, WIDTH)
    keep("attention", attention[grid](q, k, v, y, WIDTH, WIDTH // HEADS, SEQUENCE, 64, 64, num_warps=4,
                                      num_stages=2), grid)
    torch.cuda.synchronize()
    with open(os.path.join(folder, "kernels.json"), "w") as file:
        json.dump(kept, file, indent=1)
    print("triton", triton.__version__, "torch", torch.__version__, {name: one["shared"] for name, one in kept.items()})


class Driver:
    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        context, device = ctypes.c_void_p(), ctypes.c_int()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(self.stream), 1)

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            sys.exit("%s: error %d" % (name, status))

    def memory(self, size):
        at = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(at), ctypes.c_size_t(size))
        return at.value


class Kernel:
    def __init__(self, driver, folder, name, about):
        module, self.function = ctypes.c_void_p(), ctypes.c_void_p()
        self.driver, self.about = driver, about
        with open(os.path.join(folder, name + ".ptx"), "rb") as file:
            driver.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(file.read()))
        driver.call("cuModuleGetFunction", ctypes.byref(self.function), module, about["entry"].encode())

    def prepare(self, *pointers):
        """A launch without arguments: what is slow in Python is done once."""
        pointers = list(pointers) + [0] * (self.about["parameters"] - len(pointers))
        values = [ctypes.c_uint64(pointer) for pointer in pointers]
        parameters = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
        call, stream, about = self.driver.library.cuLaunchKernel, self.driver.stream, self.about
        x, y, z = about["grid"]
        arguments = (self.function, x, y, z, 32 * about["warps"], 1, 1, about["shared"], stream, parameters, None)

        def launch(keep=values):
            status = call(*arguments)
            if status:
                sys.exit("launch of %s: error %d" % (about["entry"], status))
        return launch


def run(folder, passes, start):
    driver = Driver()
    with open(os.path.join(folder, "kernels.json")) as file:
        about = json.load(file)
    began = time.time()
    kernels = {name: Kernel(driver, folder, name, one) for name, one in about.items()}
    loaded = time.time() - began
    row, square, up = 2 * TOKENS * WIDTH, 2 * WIDTH * WIDTH, 2 * WIDTH * HIDDEN
    x, y, q, k, v, z = (driver.memory(row) for _ in range(6))
    wide = driver.memory(2 * TOKENS * HIDDEN)
    layers, setup, steps = [], [kernels["fill_x"].prepare(x)], []
    for _ in range(LAYERS):
        layer = [driver.memory(square) for _ in range(4)] + [driver.memory(up), driver.memory(up)]
        setup += [kernels["fill_square"].prepare(at) for at in layer[:4]]
        setup += [kernels["fill_up"].prepare(at) for at in layer[4:]]
        layers.append(layer)
    for wq, wk, wv, wo, wu, wd in layers:
        steps += [kernels["layernorm"].prepare(x, y),
                  kernels["project"].prepare(y, wq, q, q), kernels["project"].prepare(y, wk, k, k),
                  kernels["project"].prepare(y, wv, v, v), kernels["attention"].prepare(q, k, v, z),
                  kernels["project_add"].prepare(z, wo, x, x), kernels["layernorm"].prepare(x, y),
                  kernels["up_gelu"].prepare(y, wu, wide, wide), kernels["down_add"].prepare(wide, wd, x, x)]
    for launch in setup + steps:
        launch()
    driver.call("cuCtxSynchronize")
    while time.time() < start:
        time.sleep(0.001)
    began = time.time()
    for _ in range(passes):
        for launch in steps:
            launch()
    driver.call("cuCtxSynchronize")
    ended = time.time()
    result = ctypes.create_string_buffer(row)
    driver.call("cuMemcpyDtoH_v2", result, ctypes.c_uint64(x), ctypes.c_size_t(row))
    print("model passes %d kernels %d began %.3f ended %.3f passes/s %.2f load %.2f s hash %s" %
          (passes, passes * len(steps), began, ended, passes / (ended - began), loaded,
           hashlib.sha256(result.raw).hexdigest()[:16]), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "compile":
        os.makedirs(sys.argv[2], exist_ok=True)
        compile_kernels(sys.argv[2])
    else:
        run(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]) if len(sys.argv) > 4 else 0)
