# SPDX-License-Identifier: MIT OR GPL-2.0
"""A thread that waits for pressure and calls the application.

The source may not be there yet: a process has no container before it uses the GPU, and gvmd may start
later or start again. The thread tries again and again, and says so once. An error of the
application's function is logged. It ends neither the thread nor the application.
"""
import logging
import os
import select
import threading
from typing import Callable, Optional

from .source import Event, Source, open_source

log = logging.getLogger("gvm_pressure")


class Listener:
    """Call @give(event) for the newest pressure event of this process; it returns the bytes given.

    @gpu: the GPU as gvm.ko and the shim number it, or None for all. @open_source: what opens a source for a GPU.
    @retry: seconds between two tries to open it. The thread is a daemon. A forked child has no such
    thread: it makes a listener of its own.
    """

    def __init__(self, give: Callable[[Event], Optional[int]], gpu: Optional[int] = 0,
                 open_source: Callable[[Optional[int]], Source] = open_source, retry: float = 1.0) -> None:
        self.give = give
        self.gpu = gpu
        self.events = 0  # that @give was called for
        self.given_bytes = 0
        self._open = open_source
        self._retry = retry
        self._stopped: Optional[int]
        self._stop, self._stopped = os.pipe()
        self._process = os.getpid()
        self._told: Optional[str] = None
        self._thread = threading.Thread(target=self._run, name="gvm-pressure", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread. An event that is being handled is finished first."""
        if self._stopped is None:
            return
        # A child of fork has this end of the pipe, too: closing it here would tell the thread nothing. The child
        # itself has no thread to stop.
        if os.getpid() == self._process:
            os.write(self._stopped, b"x")
        os.close(self._stopped)
        self._stopped = None
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _say_once(self, text: str) -> None:
        if text != self._told:
            log.info("GPU %s: %s", "any" if self.gpu is None else self.gpu, text)
            self._told = text

    # Wait for the source, or for the end of the listener. Returns whether the source is ready.
    def _wait(self, source: Optional[Source], timeout: Optional[float] = None) -> bool:
        poll = select.poll()
        poll.register(self._stop, select.POLLIN)
        if source is not None:
            poll.register(source.fileno(), select.POLLIN)
        ready = dict(poll.poll(None if timeout is None else timeout * 1000))
        if self._stop in ready:
            raise StopIteration
        return bool(ready)

    def _run(self) -> None:
        try:
            while True:
                try:
                    source = self._open(self.gpu)
                except (OSError, ValueError) as error:
                    self._say_once("no pressure events: %s" % error)
                    self._wait(None, self._retry)
                    continue
                self._say_once("pressure events are heard")
                try:
                    self._hear(source)
                    self._say_once("no pressure events: the source has ended")
                except (OSError, ValueError) as error:
                    self._say_once("no pressure events: %s" % error)
                finally:
                    source.close()
                self._wait(None, self._retry)
        except StopIteration:
            os.close(self._stop)

    # Until the source ends. Of several events only the newest of each process and GPU counts.
    def _hear(self, source: Source) -> None:
        while True:
            self._wait(source)
            events = source.read()
            if events is None:
                return
            for event in {(e.pid, e.gpu): e for e in events}.values():
                try:
                    given = int(self.give(event) or 0)
                except Exception:  # the application's own error
                    log.exception("GPU %d: the application could not give memory", event.gpu)
                    given = 0
                self.given_bytes += given
                self.events += 1
                log.debug("GPU %d: asked for %d bytes, gave %d", event.gpu, event.target_bytes, given)
