# SPDX-License-Identifier: MIT OR GPL-2.0
"""python3 -m gvm_pressure [GPU]: print the events of this process and its descendants."""
import sys

from .source import open_source, wait


def main():
    if len(sys.argv) > 2 or not all(a.isdigit() for a in sys.argv[1:]):
        print("usage: python3 -m gvm_pressure [GPU]", file=sys.stderr)
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
    except (OSError, ValueError) as error:
        print("gvm_pressure: %s" % error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
