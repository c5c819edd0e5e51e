#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""How many launches a process can have queued before CUDA makes it wait.

    python3 queue_bound.py

A kernel waits for the host on each stream, and small kernels are launched behind it until a launch has not returned
for 0.3 s. Then the host ends the wait. Cases, each in a process of its own: parameters of a kernel, streams (launches
go round), an event recorded after each launch, CUDA_DEVICE_MAX_CONNECTIONS, CUDA_SCALE_LAUNCH_QUEUES, graphs, copies
of a few bytes. "pace" launches kernels of 0.5 ms without a wait in front and notes how many are queued when each launch
returns. "torch" counts PyTorch's eager operations. Needs libcuda; PyTorch 2 for the last cases.
"""
import ctypes
import os
import subprocess
import sys
import threading
import time

MOST = 40000
STUCK_S = .3

PTX = b"""
.version 7.0
.target sm_80
.address_size 64
.visible .entry wait(.param .u64 flag) {
    .reg .u64 %p; .reg .u32 %v; .reg .pred %q;
    ld.param.u64 %p, [flag];
again:
    ld.volatile.global.u32 %v, [%p];
    setp.eq.u32 %q, %v, 0;
    @%q bra again;
    ret;
}
.visible .entry pace(.param .u64 done, .param .u32 number, .param .u32 ns) {
    .reg .u64 %p, %t, %u, %n; .reg .u32 %v, %w; .reg .pred %q;
    ld.param.u64 %p, [done];
    ld.param.u32 %v, [number];
    ld.param.u32 %w, [ns];
    cvt.u64.u32 %n, %w;
    mov.u64 %t, %globaltimer;
again:
    mov.u64 %u, %globaltimer;
    sub.u64 %u, %u, %t;
    setp.lt.u64 %q, %u, %n;
    @%q bra again;
    st.volatile.global.u32 [%p], %v;
    ret;
}
"""
SIZES = (8, 64, 256, 512, 1024, 2048, 4096)
for _size in SIZES:
    PTX += b".visible .entry none%d(.param .align 8 .b8 p[%d]) { ret; }\n" % (_size, _size)

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    """A function of the driver, which has to succeed."""
    status = getattr(cuda, name)(*arguments)
    if status:
        raise RuntimeError(f"{name}: error {status}")


class Gpu:
    """A context, the kernels, and words of the host that kernels see."""

    def __init__(self):
        device = ctypes.c_int()
        self.context = ctypes.c_void_p()
        module = ctypes.c_void_p()
        call("cuInit", 0)
        call("cuDeviceGet", ctypes.byref(device), 0)
        call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        call("cuCtxSetCurrent", self.context)
        call("cuModuleLoadData", ctypes.byref(module), PTX)
        self.functions = {}
        for name in ["wait", "pace"] + [f"none{size}" for size in SIZES]:
            self.functions[name] = ctypes.c_void_p()
            call("cuModuleGetFunction", ctypes.byref(self.functions[name]), module, name.encode())
        words = ctypes.c_void_p()
        call("cuMemHostAlloc", ctypes.byref(words), ctypes.c_size_t(4096), 2)
        self.flag_at, self.done_at = words.value, words.value + 64
        self.flag = ctypes.c_uint32.from_address(self.flag_at)
        self.done = ctypes.c_uint32.from_address(self.done_at)
        self.flag.value = self.done.value = 0

    @staticmethod
    def stream():
        """A stream that does not wait for the default stream."""
        stream = ctypes.c_void_p()
        call("cuStreamCreate", ctypes.byref(stream), 1)
        return stream

    def launch(self, name, stream, parameters):
        """One block of one thread."""
        pointers = (ctypes.c_void_p * len(parameters))(*[ctypes.addressof(p) for p in parameters])
        call("cuLaunchKernel", self.functions[name], 1, 1, 1, 1, 1, 1, 0, stream, pointers, None)


class Watch(threading.Thread):
    """Ends the wait when the count stands still."""

    def __init__(self, gpu, at_most_s=20):
        super().__init__(daemon=True)
        self.gpu, self.count, self.blocked, self.over, self.at_most_s = gpu, 0, None, False, at_most_s

    def run(self):
        last, since = -1, time.monotonic()
        begin = since
        while not self.over:
            time.sleep(.01)
            now = time.monotonic()
            if self.count != last:
                last, since = self.count, now
            elif now - since > STUCK_S or now - begin > self.at_most_s:
                break
        if not self.over:
            self.blocked = self.count
        self.gpu.flag.value = 1


def fill(gpu, streams, one):
    """Calls one(i) behind waiting kernels until a call does not return: how often it returned."""
    watch = Watch(gpu)
    for stream in streams:
        gpu.launch("wait", stream, [ctypes.c_uint64(gpu.flag_at)])
    watch.start()
    begin = time.monotonic()
    for i in range(MOST):
        one(i)
        if watch.blocked is not None:
            break
        watch.count = i + 1
    took = time.monotonic() - begin
    watch.over = True
    gpu.flag.value = 1
    watch.join()
    call("cuCtxSynchronize")
    gpu.flag.value = 0
    return watch.blocked, took


def small(gpu, streams, size, event=False):
    """A launch of a kernel with so many bytes of parameters, round the streams."""
    parameters = (ctypes.c_char * size)()
    handle = ctypes.c_void_p()
    if event:
        call("cuEventCreate", ctypes.byref(handle), 2)

    def one(i):
        stream = streams[i % len(streams)]
        gpu.launch(f"none{size}", stream, [parameters])
        if event:
            call("cuEventRecord", handle, stream)
    return one


def case_small(size, count, event):
    """Small kernels; twice, as the first time may grow something."""
    gpu = Gpu()
    streams = [gpu.stream() for _ in range(count)]
    one = small(gpu, streams, size, event)
    one(0)
    call("cuCtxSynchronize")
    runs = [fill(gpu, streams, one)[0] for _ in range(3)]
    print("parameters", size, "streams", count, "events", int(event), "queued", *runs)


def case_filled_first(size):
    """One stream is filled; does a launch on another stream still return?"""
    gpu = Gpu()
    streams = [gpu.stream() for _ in range(2)]
    first, second = small(gpu, streams[:1], size), small(gpu, streams[1:], size)
    first(0)
    second(0)
    call("cuCtxSynchronize")
    bound = fill(gpu, streams, first)[0]
    near = bound - 50
    blocked = fill(gpu, streams, lambda i: first(i) if i < near else second(i))[0]
    print("parameters", size, "one stream", bound, "then another after", near, "queued", blocked, blocked - near)


def case_pace(count, ns):
    """Kernels of 0.5 ms: when does a launch return?"""
    gpu = Gpu()
    stream = gpu.stream()
    queued, dates = [], []
    begin = time.monotonic()
    for i in range(count):
        gpu.launch("pace", stream, [ctypes.c_uint64(gpu.done_at), ctypes.c_uint32(i + 1), ctypes.c_uint32(ns)])
        queued.append(i + 1 - gpu.done.value)
        dates.append(time.monotonic() - begin)
    call("cuCtxSynchronize")
    total = time.monotonic() - begin
    waits = [i for i in range(1, count) if dates[i] - dates[i - 1] > ns * .4e-9]
    print("pace", count, "kernels of", ns, "ns: total", round(total, 3), "s, most queued", max(queued), "launches that waited", len(waits))
    print("pace first waits (launch, queued before, queued after, ms):",
          *[f"{i},{queued[i - 1]},{queued[i]},{(dates[i] - dates[i - 1]) * 1e3:.2f}" for i in waits[:12]])
    print("pace steps between waits:", *[b - a for a, b in zip(waits[:40], waits[1:41])])
    later = queued[waits[5]:] if len(waits) > 5 else queued
    print("pace queued later: least", min(later), "most", max(later), "at return; mean launch us before the first wait",
          round(dates[waits[0] - 1] / waits[0] * 1e6, 2) if waits else "-")


def case_graph(nodes, size):
    """Launches of a graph of so many small kernels."""
    gpu = Gpu()
    stream = gpu.stream()
    graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
    one = small(gpu, [stream], size)
    call("cuStreamBeginCapture_v2", stream, 2)
    for i in range(nodes):
        one(i)
    call("cuStreamEndCapture", stream, ctypes.byref(graph))
    call("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph, ctypes.c_uint64(0))

    def launch(_):
        call("cuGraphLaunch", ready, stream)
    launch(0)
    call("cuCtxSynchronize")
    runs = [fill(gpu, [stream], launch)[0] for _ in range(2)]
    print("graph of", nodes, "kernels, parameters", size, "queued graphs", *runs, "kernels", *[r and r * nodes for r in runs])


def case_copies(size):
    """Copies of a few bytes from pinned memory, alone and in turns with kernels."""
    gpu = Gpu()
    stream = gpu.stream()
    pinned, memory = ctypes.c_void_p(), ctypes.c_uint64()
    call("cuMemHostAlloc", ctypes.byref(pinned), ctypes.c_size_t(4096), 0)
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(4096))
    kernel = small(gpu, [stream], 64)

    def copy(_):
        call("cuMemcpyHtoDAsync_v2", memory, pinned, ctypes.c_size_t(size), stream)

    def both(i):
        kernel(i)
        copy(i)
    both(0)
    call("cuCtxSynchronize")
    print("copies of", size, "queued", fill(gpu, [stream], copy)[0], "with a kernel before each", fill(gpu, [stream], both)[0])


def case_torch(name):
    """PyTorch's eager operations behind a waiting kernel."""
    import torch
    gpu = Gpu()
    half = {"device": "cuda", "dtype": torch.bfloat16}
    x, w, b = torch.randn(64, 1024, **half), torch.randn(1024, 1024, **half), torch.randn(1024, **half)
    q = torch.randn(1, 16, 64, 64, **half)
    out = torch.empty_like(x)
    operations = {
        "add": lambda: x.add_(0),
        "mul out": lambda: torch.mul(x, x, out=out),
        "linear": lambda: torch.nn.functional.linear(x, w, b),
        "norm": lambda: torch.nn.functional.layer_norm(x, (1024,), b, b),
        "attention": lambda: torch.nn.functional.scaled_dot_product_attention(q, q, q),
        "step": lambda: torch.nn.functional.linear(torch.nn.functional.layer_norm(out.add_(x), (1024,)), w, b),
    }
    with torch.inference_mode():
        one = operations[name]
        for _ in range(20):
            one()
        torch.cuda.synchronize()
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        runs = [fill(gpu, [stream], lambda i: one())[0] for _ in range(2)]
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CUDA]) as seen:
            for _ in range(10):
                one()
            torch.cuda.synchronize()
        kernels = sum(e.count for e in seen.key_averages() if "Memset" not in e.key and "Memcpy" not in e.key and e.self_device_time_total > 0) / 10
    print("torch", name, "calls", *runs, "kernels a call", kernels)


def run(text, **environment):
    """A case in a process of its own."""
    print("#", text, *[f"{k}={v}" for k, v in environment.items()], flush=True)
    try:
        done = subprocess.run([sys.executable, __file__, text], env={**os.environ, **environment}, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        lines = done.stdout.strip().split("\n")
        print("\n".join(lines if not done.returncode else lines[-2:]), flush=True)
    except subprocess.TimeoutExpired:
        print("did not end", flush=True)


def main():
    """All cases."""
    print(subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                         stdout=subprocess.PIPE, text=True).stdout.strip())
    for size in SIZES:
        run(f"case_small({size}, 1, False)")
    for streams in (2, 4, 8, 16, 32):
        run(f"case_small(64, {streams}, False)")
    run("case_small(64, 1, True)")
    run("case_small(64, 8, True)")
    run("case_filled_first(64)")
    run("case_pace(6000, 500000)")
    run("case_pace(6000, 100000)")
    for scale in ("0.25x", "0.5x", "2x", "4x"):
        run("case_small(64, 1, False)", CUDA_SCALE_LAUNCH_QUEUES=scale)
    for connections in ("1", "32"):
        run("case_small(64, 8, False)", CUDA_DEVICE_MAX_CONNECTIONS=connections)
    for nodes in (10, 100, 1000):
        run(f"case_graph({nodes}, 64)")
    run("case_copies(16)")
    for name in ("add", "mul out", "linear", "norm", "attention", "step"):
        run(f"case_torch({name!r})")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        eval(sys.argv[1])  # a case, from run()
    else:
        main()
