# SPDX-License-Identifier: MIT OR GPL-2.0
"""vLLM's V1 scheduler with a balloon: see vllm_plugin.py.

vLLM schedules asynchronously by default since 2026, and its engine then wants a scheduler of that kind: one of the
other kind has nothing to do until a step has ended. So PressureScheduler() makes an object of the kind in force.
"""
import logging
from typing import Any, Optional

from vllm.v1.core.sched.scheduler import Scheduler

try:
    from vllm.v1.core.sched.async_scheduler import AsyncScheduler
except ImportError:  # before 0.10
    AsyncScheduler = None

from . import vllm_plugin
from .listener import Listener

log = logging.getLogger("gvm_pressure")


class PressureScheduler(Scheduler):  # type: ignore[misc]  # vLLM is not there to be checked
    """--scheduler-cls gvm_pressure.vllm_scheduler.PressureScheduler"""

    def __new__(cls, vllm_config: Any, *args: Any, **kwargs: Any) -> Any:
        asynchronous = getattr(vllm_config.scheduler_config, "async_scheduling", False)
        if cls is PressureScheduler and asynchronous and AsyncScheduler is not None:
            cls = AsyncPressureScheduler
        return super().__new__(cls)

    def __init__(self, vllm_config: Any, kv_cache_config: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(vllm_config, kv_cache_config, *args, **kwargs)
        self.gvm_mailbox = vllm_plugin.Mailbox()
        groups = max(1, len(kv_cache_config.kv_cache_groups))
        keep = -(-self.max_model_len // self.block_size) * groups
        self.gvm_balloon = vllm_plugin.Balloon(
            self.kv_cache_manager.block_pool, vllm_plugin.bytes_per_block(kv_cache_config), keep,
            hold=vllm_plugin.hold_seconds())
        self.gvm_listener: Optional[Listener] = None
        if vllm_plugin.enabled:
            # Of any GPU: a worker of its own process has its own.
            self.gvm_listener = Listener(self.gvm_mailbox.put, gpu=None)
        else:
            log.warning("VLLM_PLUGINS leaves gvm_pressure out: no pressure events are heard")

    def schedule(self, *args: Any, **kwargs: Any) -> Any:
        target = self.gvm_mailbox.take()
        if target:
            given = self.gvm_balloon.take(target)
            log.info("pressure of %d bytes: %d of KV blocks are given, %d blocks in all", target, given,
                     len(self.gvm_balloon.blocks))
        else:
            self.gvm_balloon.ease()
        return super().schedule(*args, **kwargs)

    def reset_prefix_cache(self, *args: Any, **kwargs: Any) -> Any:
        # It needs all blocks to be free. The next event fills the balloon again.
        self.gvm_balloon.release(len(self.gvm_balloon.blocks))
        return super().reset_prefix_cache(*args, **kwargs)

    def shutdown(self) -> Any:
        if self.gvm_listener is not None:
            self.gvm_listener.stop()
        return super().shutdown()


if AsyncScheduler is not None:

    class AsyncPressureScheduler(PressureScheduler, AsyncScheduler):  # type: ignore[misc]
        """The same on top of vLLM's asynchronous scheduler."""
