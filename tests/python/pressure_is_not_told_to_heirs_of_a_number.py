# SPDX-License-Identifier: MIT OR GPL-2.0
"""A process connects to gvmd, forks and ends. Its child has the connection, and another process gets its number:
the child hears nothing of it. Usage: NAME.py GVMD [PRELOADED]. In a PID namespace of its own, where numbers can be chosen."""
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time

GVMD, PRELOADED = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
MIB = 1 << 20
UNSHARE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]


def heirs_of_a_number(path):
    """The connection of a process that has ended, in the hands of its child, and the number."""
    ours, theirs = socket.socketpair()
    number = os.fork()
    if not number:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(path)
        assert connection.recv(15) == b"gvm-pressure 1\n"
        if os.fork():
            os._exit(0)
        ours.close()
        theirs.sendall(b"ready\n")
        while True:  # all that it hears, until gvmd lets go of it
            words = connection.recv(1000)
            theirs.sendall(words or b"end\n")
            if not words:
                os._exit(0)
    theirs.close()
    os.waitpid(number, 0)
    assert ours.recv(6) == b"ready\n"
    return number, ours


def process_of_number(number):
    time.sleep(0.03)  # /proc tells a start to 10 ms; no real host uses up its numbers in that time
    with open("/proc/sys/kernel/ns_last_pid", "w") as file:
        file.write(str(number - 1))
    process = subprocess.Popen(["sleep", "100"])
    assert process.pid == number, (process.pid, number)
    return process


def main(work):
    root, path = os.path.join(work, "root"), os.path.join(work, "socket")
    daemon = subprocess.Popen([GVMD, "pressure", "--socket", path, "--root", root, "--period", "5ms"],
                              stdout=subprocess.PIPE, text=True, env=dict(os.environ, LD_PRELOAD=PRELOADED))
    assert daemon.stdout.readline() == "listening on %s\n" % path
    own = socket.socket(socket.AF_UNIX)
    own.connect(path)
    assert own.recv(100) == b"gvm-pressure 1\n"
    number, heard = heirs_of_a_number(path)
    process = process_of_number(number)
    folder = os.path.join(root, str(number), "0")
    os.makedirs(folder)
    for name, value in ("gmem.limit.high", 4 * MIB), ("gmem.current", 10 * MIB):
        with open(os.path.join(folder, name), "w") as file:
            file.write("%d\n" % value)
    # We are its parent and hear of it, twice.
    words = b""
    while words.count(b"\n") < 2:
        assert select.select([own], [], [], 30)[0], "no event"
        words += own.recv(1000)
    assert words.startswith(b"pressure pid=%d gpu=0 target=%d sequence=1\n" % (number, 6 * MIB)), words
    assert select.select([heard], [], [], 30)[0], "it has still the connection of a process that has ended"
    words = heard.recv(1000)
    assert words == b"end\n", words
    daemon.send_signal(signal.SIGTERM)
    daemon.communicate(timeout=30)
    assert not daemon.returncode
    process.kill()


if os.environ.get("IN_NAMESPACE"):
    with tempfile.TemporaryDirectory() as folder:
        main(folder)
else:
    if subprocess.run(UNSHARE + ["true"], stderr=subprocess.DEVNULL).returncode:
        print("no PID namespace can be made here")
        sys.exit(77)
    os.environ["IN_NAMESPACE"] = "1"
    os.execvp("unshare", UNSHARE + ["--kill-child", sys.executable] + sys.argv)
