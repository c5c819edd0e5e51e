# SPDX-License-Identifier: MIT OR GPL-2.0
"""Profile of a PyTorch program, from which gvmsim makes an application.

A program that runs alone says where its steps end:

    import gvm_profile

    with gvm_profile.record("mine.json.gz") as profile:
        for batch in loader:
            train(batch)
            if profile.step():
                break

"gvmsim app import mine.json.gz mine.json --gpu h200-141g" makes an application of it: its kernels,
launches, waits and memory. recorder.py tells what is recorded. PyTorch is needed, and nothing else.
"""
from .recorder import Recorder, record

__all__ = ["Recorder", "record"]
