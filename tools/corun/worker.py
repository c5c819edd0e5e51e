# SPDX-License-Identifier: MIT OR GPL-2.0
"""What the applications share: talking with corun.py, clocks, the own timeslice.

corun.py writes a JSON object a line to an application's standard input: {"run": {...}},
{"profile": FILE} or {"quit": true}. The application answers on standard output with lines that
begin with "@@ ": first {"ready": ...}, then {"done": ...} or {"failed": ...} for each run and
each profile.
"""

import ctypes
import json
import os
import sys
import time
import traceback

MARK = "@@ "


def say(**answer):
    """Answer corun.py."""
    print(MARK + json.dumps(answer), flush=True)


def wait_until(date_ns):
    """Sleep until a date of CLOCK_MONOTONIC, to about ten microseconds."""
    while (left := date_ns - time.monotonic_ns()) > 0:
        time.sleep(left * 5e-10)


def set_timeslice(timeslice_us):
    """Set the timeslice of this process's channel groups, all of them.

    timeslice.c, which has to be preloaded, knows the groups. Returns their number.
    """
    library = ctypes.CDLL(None)
    try:
        library.corun_set_timeslice.argtypes = [ctypes.c_uint64]
    except AttributeError:
        raise RuntimeError("timeslice.so is not preloaded") from None
    taken = library.corun_set_timeslice(timeslice_us)
    groups = library.corun_groups()
    if not groups or taken != groups:
        raise RuntimeError(f"a timeslice of {timeslice_us} us was taken by {taken} of "
                           f"{groups} channel groups; only root may set it")
    return groups


def serve(application, run, profile=None, **ready):
    """Say that this application is ready, then do what corun.py says until told to quit.

    run(start_ns, seconds, drain_s, prefix, settings) does a run that begins at start_ns, and
    returns what corun.py records of it. prefix begins the names of its files. profile(file)
    records a profile, and returns likewise.
    """
    def do(command):
        if "profile" in command:
            return profile(command["profile"])
        settings = command["run"]
        if settings.get("timeslice_us"):
            set_timeslice(settings["timeslice_us"])
        return run(settings["start_ns"], settings["seconds"], settings["drain_s"],
                   settings["prefix"], settings)

    if "CORUN_TIMESLICE_US" in os.environ:
        # Groups have had it from their first moment on. Now the settings must all hold.
        ready["channel_groups"] = set_timeslice(int(os.environ["CORUN_TIMESLICE_US"]))
    say(ready=application, pid=os.getpid(), **ready)
    for line in sys.stdin:
        command = json.loads(line)
        if "quit" in command:
            break
        try:
            say(done=do(command))
        except Exception as error:  # corun.py decides what a failed run means
            traceback.print_exc()
            say(failed=f"{type(error).__name__}: {error}"[:300])
