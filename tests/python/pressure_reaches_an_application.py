# SPDX-License-Identifier: MIT OR GPL-2.0
"""gvmd's socket between a program with the shim and Python. The program is a child of this process, so this
process hears of it. Usage: NAME.py GVMD GVMCTL SHIM DRIVER PROGRAM"""
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

import gvm_pressure
from gvm_pressure import source

GVMD, GVMCTL, SHIM, DRIVER, PROGRAM = sys.argv[1:6]
MIB = 1 << 20
started = []


def start(*args, **options):
    started.append(subprocess.Popen(*args, **options))
    return started[-1]


def until(what, true, seconds=30):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.01)


def has_socket(pid):
    folder = "/proc/%d/fd" % pid
    for name in os.listdir(folder):
        try:
            if os.readlink(os.path.join(folder, name)).startswith("socket:"):
                return True
        except FileNotFoundError:  # it was closed meanwhile
            pass
    return False


def start_gvmd(root, path):
    daemon = start([GVMD, "pressure", "--socket", path, "--root", root, "--period", "5ms"],
                              stdout=subprocess.PIPE, text=True)
    assert daemon.stdout.readline() == "listening on %s\n" % path
    return daemon


def end_gvmd(daemon):
    daemon.send_signal(signal.SIGTERM)
    out = daemon.communicate(timeout=30)[0]
    assert daemon.returncode == 0, daemon.returncode
    return int(out.split()[0])


def main(work):
    root, path = os.path.join(work, "root"), os.path.join(work, "socket")
    daemon = start_gvmd(root, path)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o666

    # A second one is refused, and leaves the first one's socket.
    second = subprocess.run([GVMD, "pressure", "--socket", path], capture_output=True, text=True, timeout=30)
    assert second.returncode == 1 and "another process listens there" in second.stderr, second.stderr
    assert second.stderr.count("\n") == 1

    program = start([PROGRAM, "ask", "fill", "100"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                               env=dict(os.environ, LD_LIBRARY_PATH=DRIVER, LD_PRELOAD=SHIM, GVM_SHIM_DIR=root,
                                        GVM_LIMIT="10M", GVM_SHIM_MANAGED="0"))
    current = os.path.join(root, str(program.pid), "0", "gmem.current")
    until("the program fills its limit", lambda: os.path.exists(current) and open(current).read() == "%d\n" % (10 * MIB))

    # Words of a peer are ignored, and one that does not read harms nobody.
    silent = socket.socket(socket.AF_UNIX)
    silent.connect(path)
    silent.sendall(b"hello\n")
    # A stranger hears nothing of the program: it is no ancestor of it.
    stranger = start([sys.executable, "-m", "gvm_pressure"], stdout=subprocess.PIPE, text=True,
                                env=dict(os.environ, GVM_PRESSURE_SOCKET=path))
    # It is slow to start where the host is busy, and has to be there before the daemon ends.
    until("the stranger is connected", lambda: has_socket(stranger.pid))
    heard = source.SocketSource(0, path)

    subprocess.run([GVMCTL, "set", str(program.pid), "gmem.limit.high", "4M", "--root", root], check=True,
                   stdout=subprocess.DEVNULL)
    events = []
    while len(events) < 2:  # the second is the first one again, a second later
        assert source.wait(heard, 30), "no event"
        events += heard.read()
    assert events[0] == gvm_pressure.Event(0, 6 * MIB, 1, program.pid), events
    assert events[1] == gvm_pressure.Event(0, 6 * MIB, 2, program.pid), events

    # Within the limit there is nothing to tell; a new excess is told at once.
    subprocess.run([GVMCTL, "set", str(program.pid), "gmem.limit.high", "9M", "--root", root], check=True,
                   stdout=subprocess.DEVNULL)
    until("the new target", lambda: any(e.target_bytes == MIB for e in heard.read() or []))

    program.communicate(b"\n\n")
    until("the files go", lambda: not os.path.exists(current))
    sent = end_gvmd(daemon)
    assert sent >= 3, sent
    assert stranger.communicate(timeout=30)[0] == "" and stranger.returncode == 0
    assert not os.path.exists(path)
    while heard.read():  # what was sent before the end
        pass
    assert heard.read() is None
    heard.close()
    silent.close()

    # A user has up to 240 connections, so it cannot use up the daemon's descriptors. Who has none is told at once.
    daemon = start_gvmd(root, path)
    many = [socket.socket(socket.AF_UNIX) for _ in range(300)]
    for each in many:
        each.connect(path)
        each.settimeout(30)
    assert [each.recv(100) for each in many].count(b"gvm-pressure 1\n") == 240
    for each in many:
        each.close()
    end_gvmd(daemon)

    # A daemon that was killed leaves its socket; the next one replaces it. A file of the user's stays.
    daemon = start_gvmd(root, path)
    daemon.kill()
    daemon.communicate()
    assert os.path.exists(path)
    end_gvmd(start_gvmd(root, path))
    with open(path, "w") as file:
        file.write("mine")
    wrong = subprocess.run([GVMD, "pressure", "--socket", path], capture_output=True, text=True, timeout=30)
    assert wrong.returncode == 1 and "or it is no socket" in wrong.stderr, wrong.stderr
    assert open(path).read() == "mine"
    wrong = subprocess.run([GVMD, "pressure", "--socket", work + "/" + 200 * "x"], capture_output=True, text=True, timeout=30)
    assert wrong.returncode == 1 and "File name too long" in wrong.stderr, wrong.stderr


with tempfile.TemporaryDirectory() as folder:
    try:
        main(folder)
    finally:
        for child in started:
            child.kill()
