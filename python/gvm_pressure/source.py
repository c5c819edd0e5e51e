# SPDX-License-Identifier: MIT OR GPL-2.0
"""Where pressure events come from: the descriptor of gvm.ko, or the socket of "gvmd pressure".

Both tell the newest event only. A gap in the sequence says how many were overwritten: they need no
answer, because the newest one names all that is to be given now.
"""
import fcntl
import os
import select
import socket
import struct
from typing import List, NamedTuple, Optional, Union

DEVICE = "/dev/gvm"
SOCKET = "/run/gvm/pressure.sock"
GREETING = "gvm-pressure 1"

# kernel-port/linux/gvm_ioctl.h: _IOW('G', 0x50, struct gvm_pressure_request)
_REQUEST = struct.Struct("=II")
_RECORD = struct.Struct("=QQ")
_PRESSURE_OPEN = (1 << 30) | (_REQUEST.size << 16) | (ord("G") << 8) | 0x50
_LINE_MAX = 4096
_CONNECT_SECONDS = 5  # for a daemon that takes no connections


class Event(NamedTuple):
    """So many bytes are about to be taken of a process's container on a GPU."""

    gpu: int
    target_bytes: int
    sequence: int
    pid: int


class DeviceSource:
    """The descriptor that /dev/gvm gives to a process of a container.

    OSError: no module, no such GPU (ENODEV), or this process does not use it yet (ESRCH). ValueError: no number of a GPU.
    """

    def __init__(self, gpu: int = 0, device: str = DEVICE) -> None:
        if not 0 <= gpu < 1 << 32:
            raise ValueError("no number of a GPU: %d" % gpu)
        self.gpu = gpu
        # A bytearray: of bytes, ioctl() hands back the bytes, and the descriptor is lost.
        request = bytearray(_REQUEST.pack(gpu, os.O_CLOEXEC | os.O_NONBLOCK))
        with open(device, "rb", buffering=0) as control:
            self._fd = fcntl.ioctl(control.fileno(), _PRESSURE_OPEN, request)

    def fileno(self) -> int:
        return self._fd

    def read(self) -> Optional[List[Event]]:
        """The events that are there: none or one. None: the end, the container has gone."""
        try:
            record = os.read(self._fd, _RECORD.size)
        except BlockingIOError:
            return []
        if not record:
            return None
        if len(record) != _RECORD.size:
            raise ValueError("an event of %d bytes" % len(record))
        target, sequence = _RECORD.unpack(record)
        return [Event(self.gpu, target, sequence, os.getpid())]

    def close(self) -> None:
        os.close(self._fd)


class SocketSource:
    """The socket of "gvmd pressure": events of this process and of its descendants.

    @gpu: None for all GPUs. OSError: there is no such daemon. ValueError: it speaks another format.
    """

    def __init__(self, gpu: Optional[int] = 0, path: Optional[str] = None) -> None:
        self.gpu = gpu
        self._rest = b""
        self._greeted = False
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        path = path or os.environ.get("GVM_PRESSURE_SOCKET") or SOCKET
        try:
            self._socket.settimeout(_CONNECT_SECONDS)
            self._socket.connect(path)
            self._socket.setblocking(False)
        except OSError as error:
            self._socket.close()
            if error.errno is None:  # a daemon that takes no connections
                raise
            raise OSError(error.errno, error.strerror, path) from None

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self) -> Optional[List[Event]]:
        """The events that are there. None: the end, the daemon has gone."""
        try:
            more = self._socket.recv(65536)
        except BlockingIOError:
            return []
        except ConnectionError:
            return None
        if not more:
            return None
        lines = (self._rest + more).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > _LINE_MAX:
            raise ValueError("a line without an end")
        return [e for e in map(self._take, lines) if e is not None]

    def _take(self, line: bytes) -> Optional[Event]:
        words = line.decode("ascii", "replace").split()
        if not self._greeted:
            if " ".join(words) != GREETING:
                raise ValueError("no socket of gvmd: %r" % line[:80])
            self._greeted = True
            return None
        if not words or words[0] != "pressure":
            return None  # a kind of line that a later gvmd may have
        try:
            values = {k: int(v) for k, v in (word.split("=", 1) for word in words[1:])}
            event = Event(values["gpu"], values["target"], values["sequence"], values["pid"])
        except (KeyError, ValueError):
            raise ValueError("not understood: %r" % line[:80]) from None
        return event if self.gpu is None or event.gpu == self.gpu else None

    def close(self) -> None:
        self._socket.close()


Source = Union[DeviceSource, SocketSource]


def open_source(gpu: Optional[int] = 0, path: Optional[str] = None, device: str = DEVICE) -> Source:
    """The descriptor of gvm.ko where the module is loaded, else gvmd's socket. OSError: neither.

    The descriptor is of one GPU and of the caller's own process. So for @gpu None, and for a process
    that does not use the GPU itself, the socket is tried.
    """
    refused = None
    if gpu is not None and os.path.exists(device):
        try:
            return DeviceSource(gpu, device)
        except OSError as error:
            refused = error
    try:
        return SocketSource(gpu, path)
    except OSError:
        if refused is not None:
            raise refused from None
        raise


def wait(source: Source, timeout: Optional[float] = None) -> bool:
    """Wait for something to read(). False: @timeout seconds have passed."""
    poll = select.poll()
    poll.register(source.fileno(), select.POLLIN)
    return bool(poll.poll(None if timeout is None else timeout * 1000))
