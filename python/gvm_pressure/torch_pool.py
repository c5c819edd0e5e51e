# SPDX-License-Identifier: MIT OR GPL-2.0
"""PyTorch gives the free memory of its caching allocator.

The allocator keeps segments that no tensor uses, to save calls of cudaMalloc(). Under pressure they
are the cheapest memory of all: nothing is copied, and nothing is lost but the time of the next
cudaMalloc(). A segment goes back only if all of its blocks are free.

    gvm_pressure.torch_pool.listen()                    # at once, from a thread of its own

    pool = gvm_pressure.torch_pool.Pool()               # at a moment that the program chooses
    listener = gvm_pressure.Listener(pool.ask)
    for batch in batches:
        train(batch)
        pool.at_step()

A program that captures CUDA graphs takes the second way: cudaFree() of another thread can end a
capture with an error.
"""
import logging
import threading
from typing import Any, Optional

from .listener import Listener
from .source import Event

log = logging.getLogger("gvm_pressure")


def import_torch() -> Any:
    """PyTorch with a GPU, or None and a line in the log."""
    try:
        import torch
    except ImportError:
        log.warning("there is no PyTorch: no pool is emptied")
        return None
    if not torch.cuda.is_available():
        log.warning("PyTorch has no GPU: no pool is emptied")
        return None
    return torch


class Pool:
    """The caching allocator of one GPU. @torch: the module; by default it is imported."""

    def __init__(self, device: int = 0, torch: Any = None) -> None:
        self.device = device
        self.torch = torch or import_torch()
        self._asked = threading.Event()

    def idle_bytes(self) -> int:
        """Bytes of segments without a tensor: what give() can free."""
        if self.torch is None:
            return 0
        return sum(s["total_size"] for s in self.torch.cuda.memory_snapshot()
                   if s["device"] == self.device and not s["allocated_size"])

    def give(self, event: Optional[Event] = None) -> int:
        """Free these segments. Returns the bytes that went back to the driver."""
        if self.torch is None or not self.torch.cuda.is_initialized():
            return 0
        before: int = self.torch.cuda.memory_reserved(self.device)
        self.torch.cuda.empty_cache()
        return max(0, before - int(self.torch.cuda.memory_reserved(self.device)))

    def ask(self, event: Event) -> int:
        """For a Listener: leave the work to at_step()."""
        self._asked.set()
        return 0

    def at_step(self) -> int:
        """Give what was asked for since the last call. Returns the bytes; costs nothing else."""
        if not self._asked.is_set():
            return 0
        self._asked.clear()
        return self.give()


def listen(device: int = 0, gpu: Optional[int] = None, **options: Any) -> Optional[Listener]:
    """Give at once whenever pressure is heard. Returns the Listener, or None without PyTorch.

    @device: PyTorch's number. @gpu: the host's number of the same GPU, if it is another one.
    @options: as for Listener.
    """
    torch = import_torch()
    if torch is None:
        return None
    return Listener(Pool(device, torch).give, gpu=device if gpu is None else gpu, **options)
