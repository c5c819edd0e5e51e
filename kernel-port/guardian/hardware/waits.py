#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""Which calls of CUDA's driver wait for a kernel that runs in a stream of its own, and do calls of another
thread go on meanwhile? It needs a GPU and its driver. Usage: waits.py"""
import ctypes as C
import threading
import time

cuda = C.CDLL("libcuda.so.1")
HEAD = b".version 8.0\n.target sm_80\n.address_size 64\n.visible .const .align 8 .b64 bounds[16];\n"
SPIN = HEAD + (b".visible .entry spin(.param .u64 p){.reg .b64 %a;.reg .b32 %r;.reg .pred %q;ld.param.u64 %a,[p];"
               b"L:ld.volatile.global.u32 %r,[%a];setp.ne.u32 %q,%r,77;@%q bra L;ret;}\n")
ADD = HEAD + (b".visible .entry add(.param .u64 p){.reg .b64 %a;.reg .b32 %r;ld.param.u64 %a,[p];"
              b"atom.global.add.u32 %r,[%a],1;ret;}\n")


def check(result):
    if result:
        raise SystemExit(f"error {result}")


def pointer():
    return C.c_void_p()


context, name = pointer(), C.create_string_buffer(80)
stream, other, spin, module, loaded, early, host = [pointer() for _ in range(7)]
flag, memory, bounds, size = C.c_ulonglong(), C.c_ulonglong(), C.c_ulonglong(), C.c_size_t()
words = (C.c_ulonglong * 16)()
check(cuda.cuInit(0))
check(cuda.cuDeviceGetName(name, 80, 0))
check(cuda.cuDevicePrimaryCtxRetain(C.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
for each in (stream, other):
    check(cuda.cuStreamCreate(C.byref(each), 1))  # CU_STREAM_NON_BLOCKING
check(cuda.cuMemHostAlloc(C.byref(host), C.c_size_t(4096), 2))
check(cuda.cuMemHostGetDevicePointer_v2(C.byref(flag), host, 0))
check(cuda.cuMemAlloc_v2(C.byref(memory), C.c_size_t(4096)))
check(cuda.cuModuleLoadData(C.byref(module), SPIN))
check(cuda.cuModuleGetFunction(C.byref(spin), module, b"spin"))
check(cuda.cuModuleLoadData(C.byref(early), ADD))
ends = C.cast(host, C.POINTER(C.c_uint))


def beside_a_kernel(title, call):
    """Make @call 0.2 s after a kernel that runs for 1.6 s was launched, and a memset of another thread 0.2 s later."""
    took = {}

    def timed(key, function):
        cuda.cuCtxSetCurrent(context)
        began = time.time()
        check(function())
        took[key] = time.time() - began

    ends[0] = 0
    check(cuda.cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, (C.c_void_p * 1)(C.addressof(flag)), None))
    time.sleep(0.2)
    calls = ("call", call), ("memset", lambda: cuda.cuMemsetD32Async(memory, 7, C.c_size_t(1), other))
    threads = [threading.Thread(target=timed, args=each) for each in calls]
    for thread in threads:
        thread.start()
        time.sleep(0.2)
    time.sleep(1.0)
    ends[0] = 77
    for thread in threads:
        thread.join()
    print(f"{title}: {took['call']:.1f} s; the memset: {took['memset']:.1f} s")


version = C.c_int()
cuda.cuDriverGetVersion(C.byref(version))
print(f"{name.value.decode()}, CUDA {version.value}")
beside_a_kernel("cuModuleLoadData", lambda: cuda.cuModuleLoadData(C.byref(loaded), ADD))
beside_a_kernel("cuModuleGetGlobal", lambda: cuda.cuModuleGetGlobal_v2(C.byref(bounds), C.byref(size), loaded, b"bounds"))
beside_a_kernel("cuMemcpyHtoD", lambda: cuda.cuMemcpyHtoD_v2(bounds, words, C.c_size_t(128)))
beside_a_kernel("cuStreamSynchronize(NULL)", lambda: cuda.cuStreamSynchronize(None))
beside_a_kernel("cuModuleGetFunction", lambda: cuda.cuModuleGetFunction(C.byref(pointer()), early, b"add"))
beside_a_kernel("cuModuleUnload", lambda: cuda.cuModuleUnload(loaded))
