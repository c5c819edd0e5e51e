# SPDX-License-Identifier: MIT OR GPL-2.0
"""python3 -m gvm_pressure [GPU]: print the events of this process and its descendants."""
import sys
from importlib import metadata

from .source import open_source, wait


USAGE = """usage: python3 -m gvm_pressure [GPU]

Prints a line for each pressure event of this process and its descendants on a GPU, by default 0: from gvm.ko, or
from the socket of "gvmd pressure" (GVM_PRESSURE_SOCKET, else /run/gvm/pressure.sock). --version prints the version."""


def version() -> str:
    try:
        return metadata.version("gvm-pressure")
    except metadata.PackageNotFoundError:
        return "not installed"


def main() -> int:
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    if sys.argv[1:] == ["--version"]:
        print("gvm_pressure", version())
        return 0
    if len(sys.argv) > 2 or not all(a.isdigit() for a in sys.argv[1:]):
        print("usage: python3 -m gvm_pressure [GPU]; --help", file=sys.stderr)
        return 2
    try:
        source = open_source(int(sys.argv[1]) if sys.argv[1:] else 0)
        while wait(source):
            events = source.read()
            if events is None:
                return 0
            for event in events:
                print("pid %d gpu %d target %d sequence %d" % (
                    event.pid, event.gpu, event.target_bytes, event.sequence), flush=True)
    except FileNotFoundError as error:
        print("gvm_pressure: neither gvm.ko nor gvmd pressure is here: %s" % error, file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print("gvm_pressure: %s" % error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
