# SPDX-License-Identifier: MIT OR GPL-2.0
"""Managed memory for weights, which a pipeline sends to the host and the GPU faults back in."""

import ctypes

import torch

ATTACH_GLOBAL = 1  # CU_MEM_ATTACH_GLOBAL
HOST = -1  # CU_DEVICE_CPU
ALIGNMENT = 512  # of tensors, as by PyTorch's allocator


def _call(name, *arguments):
    """A function of CUDA's driver library. PyTorch has made the context."""
    status = getattr(ctypes.CDLL("libcuda.so.1"), name)(*arguments)
    if status:
        raise RuntimeError(f"{name} has failed with {status}")


class Region:
    """One allocation of managed memory, given out from its beginning on. What has not been
    given out is never touched, so it takes addresses but no memory."""

    def __init__(self, size):
        torch.cuda.init()
        torch.cuda.synchronize()
        pointer = ctypes.c_uint64()
        _call("cuMemAllocManaged", ctypes.byref(pointer), ctypes.c_size_t(size), ATTACH_GLOBAL)
        self.pointer, self.used = pointer.value, 0
        self.__cuda_array_interface__ = dict(shape=(size,), typestr="|u1", version=3,
                                             data=(self.pointer, False))
        self.memory = torch.as_tensor(self, device="cuda")

    def take(self, shape, dtype):
        """A tensor without values."""
        size = torch.Size(shape).numel() * dtype.itemsize
        if self.used + size > len(self.memory):
            raise RuntimeError(f"a region of {len(self.memory)} bytes is too small")
        tensor = self.memory[self.used:self.used + size].view(dtype).view(shape)
        self.used += -(-size // ALIGNMENT) * ALIGNMENT
        return tensor

    def send_to_host(self):
        """Begin to prefetch all that was given out to the host, on the current stream."""
        _call("cuMemPrefetchAsync", ctypes.c_uint64(self.pointer), ctypes.c_size_t(self.used),
              HOST, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
