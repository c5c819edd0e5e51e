# SPDX-License-Identifier: MIT OR GPL-2.0
"""vLLM (V1) gives KV blocks, idle memory of its pool, or all of its memory. Nothing of vLLM is changed.

vLLM takes its KV cache once and for all, so a block that no request uses is still memory of the GPU.
Three things can be given, each through an interface that vLLM has for others:

  KV blocks     --scheduler-cls gvm_pressure.vllm_scheduler.PressureScheduler
                It takes free blocks out of vLLM's pool: a balloon. No request writes to them any more, so
                the driver can move them to the host, and no fault brings them back. It keeps enough
                for one request of the greatest length. The balloon shrinks by half for each
                GVM_PRESSURE_HOLD seconds (10) without pressure.
  pool          --worker-extension-cls gvm_pressure.vllm_plugin.WorkerExtension
                collective_rpc("gvm_give") empties PyTorch's pool between two steps.
  everything    SleepWhenIdle(engine), around the AsyncLLM of an --enable-sleep-mode server: it sleeps
                when pressure comes and no request runs, and wakes up for the next request.

The entry point vllm.general_plugins switches these on: VLLM_PLUGINS without gvm_pressure in it leaves them
idle. Without a kernel module a balloon frees nothing by itself: a driver has to take the blocks.
"""
import asyncio
import logging
import os
import threading
import time
from typing import Any, AsyncIterator, Callable, Dict, List, Tuple

from .listener import Listener
from .source import Event
from .torch_pool import Pool

log = logging.getLogger("gvm_pressure")
enabled = False


def register() -> None:
    """The entry point. vLLM calls it in each of its processes, and more than once."""
    global enabled
    enabled = True


def bytes_per_block(kv_cache_config: Any) -> int:
    """Bytes of the GPU that one KV block takes, over all layers."""
    return int(sum(t.size for t in kv_cache_config.kv_cache_tensors) // kv_cache_config.num_blocks)


class Balloon:
    """Free KV blocks that are kept from use. Its calls are made by the scheduler's thread alone.

    @pool: vLLM's BlockPool. @block_bytes: of one block. @keep: blocks that requests can always have.
    """

    def __init__(self, pool: Any, block_bytes: int, keep: int, hold: float = 10.0,
                 clock: Callable[[], float] = time.monotonic) -> None:
        self.pool = pool
        self.block_bytes = block_bytes
        self.most: int = max(0, pool.num_gpu_blocks - 1 - keep)  # block 0 is never used
        self.hold = hold
        self.blocks: List[Any] = []
        self._clock = clock
        self._since = clock()

    def take(self, target_bytes: int) -> int:
        """Take blocks of @target_bytes, as far as there are free ones. Returns the bytes taken."""
        count: int = min(-(-target_bytes // self.block_bytes), self.most - len(self.blocks),
                    self.pool.get_num_free_blocks())
        self._since = self._clock()
        if count <= 0:
            return 0
        self.blocks += self.pool.get_new_blocks(count)
        return count * self.block_bytes

    def release(self, count: int) -> None:
        """Give blocks back to requests: the last ones first, which are likelier to be on the GPU."""
        if count > 0:
            released = self.blocks[-count:]
            del self.blocks[-count:]
            self.pool.free_blocks(released)

    def ease(self) -> None:
        """Shrink by half if there was no pressure for @hold seconds."""
        if self.blocks and self._clock() - self._since >= self.hold:
            self.release(-(-len(self.blocks) // 2))
            self._since = self._clock()


class Mailbox:
    """The newest event of each worker, from the listener's thread to the scheduler's."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._targets: Dict[Tuple[int, int], int] = {}

    def put(self, event: Event) -> int:
        with self._lock:
            self._targets[event.pid, event.gpu] = event.target_bytes
        return 0

    def take(self) -> int:
        """Bytes that the neediest worker is asked for since the last call; 0: none. A block frees memory of each."""
        if not self._targets:  # each step comes here
            return 0
        with self._lock:
            target = max(self._targets.values(), default=0)
            self._targets = {}
        return target


def hold_seconds() -> float:
    text = os.environ.get("GVM_PRESSURE_HOLD", "10")
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not 0 < seconds < 86400:
        log.warning("GVM_PRESSURE_HOLD=%s is ignored; allowed: seconds above 0", text)
        return 10.0
    return seconds


class WorkerExtension:
    """Methods for vLLM's workers. They run in the worker's own thread, between two steps."""

    device: Any  # of vLLM's worker

    def gvm_give(self) -> int:
        """Returns the bytes that PyTorch's pool gave."""
        return Pool(self.device.index or 0).give() if enabled else 0


class SleepWhenIdle:
    """An AsyncLLM that sleeps under pressure while it has no requests. Make it in a running event loop.

    Call generate() of this object instead of the engine's. @level: 1 keeps weights in host memory, 2
    drops them. @least_bytes: less than this is not worth the copy of the weights.
    """

    def __init__(self, engine: Any, level: int = 1, least_bytes: int = 1 << 30, **options: Any) -> None:
        self.engine = engine
        self.level = level
        self.least_bytes = least_bytes
        self.sleeps = 0
        self._running = 0
        self._wanted = False
        self._asleep = False
        self._lock = asyncio.Lock()
        self._loop = asyncio.get_running_loop()
        self.listener = Listener(self._ask, **options)

    # In the listener's thread.
    def _ask(self, event: Event) -> int:
        if event.target_bytes >= self.least_bytes and not self._loop.is_closed():
            asyncio.run_coroutine_threadsafe(self._pressure(), self._loop)
        return 0

    async def _pressure(self) -> None:
        self._wanted = True
        await self._sleep_if_idle()

    async def _sleep_if_idle(self) -> None:
        async with self._lock:
            if not self._wanted or self._running:
                return
            self._wanted = False
            if self._asleep:
                return
            try:
                await self.engine.sleep(self.level)
            except Exception:  # no fault of the request that ended before
                log.exception("vLLM could not sleep")
                return
            self._asleep = True
            self.sleeps += 1

    async def generate(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """As engine.generate(). Wakes the engine up first, if it sleeps."""
        async with self._lock:
            self._running += 1
            if self._asleep:
                try:
                    await self.engine.wake_up()
                except BaseException:
                    self._running -= 1
                    raise
                self._asleep = False
        try:
            async for output in self.engine.generate(*args, **kwargs):
                yield output
        finally:
            self._running -= 1
            await self._sleep_if_idle()
