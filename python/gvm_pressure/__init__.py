# SPDX-License-Identifier: MIT OR GPL-2.0
"""GPU memory pressure: a container learns that its memory is about to be taken, and may give it.

The driver moves memory of a container to the host when the container is above its limit, or when
others need room. It cannot know which bytes the application can do without. The application can: a
pool of a framework holds free memory, a server holds blocks of finished requests. So the driver
tells first, and takes later (Ghost 4.2).

    gvm.ko          /dev/gvm, a descriptor  -+
                                             +->  source  ->  Listener  ->  give(event)
    no module       a socket of gvmd        -+                             PyTorch, vLLM, yours

source.py has the two sources, listener.py the thread that calls an application's function. torch_pool.py
and vllm_plugin.py are worked integrations. Nothing but Python's own library is needed.
"""
from .listener import Listener
from .source import DeviceSource, Event, SocketSource, open_source

__all__ = ["DeviceSource", "Event", "Listener", "SocketSource", "open_source"]
