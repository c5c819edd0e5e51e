#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""What share of the modules in shared libraries has PTX that a GPU can run?

    python3 ptx_share.py 90 FILE-OR-FOLDER...

Reads the headers of fat binaries in the sections .nv_fatbin and __nv_relfatbin of ELF files; it needs no CUDA. The format:
kernel-port/shim/fatbin.c. A module here is one fat binary: one source file, as a rule. Compressed
or not makes no difference, since the headers are plain."""
import mmap
import os
import struct
import sys

MAGIC = 0xBA55ED50


def sections(data):
    """Offsets and sizes of the sections with fat binaries."""
    if data[:4] != b"\x7fELF" or data[4] != 2:
        return
    table, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    if not table:
        return
    strings, = struct.unpack_from("<Q", data, table + names * size + 24)
    for i in range(count):
        at = table + i * size
        name, = struct.unpack_from("<I", data, at)
        end = data.find(b"\0", strings + name)
        if data[strings + name:end] in (b".nv_fatbin", b"__nv_relfatbin"):
            yield struct.unpack_from("<QQ", data, at + 24)


def modules(data, offset, size):
    """Of each module its entries: (kind, capability, where the entry begins)."""
    at, end = offset, offset + size
    while at + 16 <= end:
        magic, _, header, length = struct.unpack_from("<IHHQ", data, at)
        if magic != MAGIC:
            at += 8  # padding
            continue
        entries, entry, stop = [], at + header, at + header + length
        while entry + 64 <= stop:
            kind, _, head, body = struct.unpack_from("<HHIQ", data, entry)
            capability, = struct.unpack_from("<I", data, entry + 28)
            if head < 64:
                break
            entries.append((kind, capability, entry))
            entry += head + body
        yield entries
        at = stop + (-stop) % 8


def count(path, gpu):
    """Modules, those with code for the GPU, with PTX for it, with PTX for newer ones alone, with PTX for none."""
    sums = [0, 0, 0, 0, 0]
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for offset, size in sections(data):
            for entries in modules(data, offset, size):
                ptx = [capability for kind, capability, _ in entries if kind == 1]
                code = [capability for kind, capability, _ in entries
                        if kind == 2 and capability // 10 == gpu // 10 and capability <= gpu]
                sums[0] += 1
                sums[1] += bool(code)
                sums[2] += any(capability <= gpu for capability in ptx)
                sums[3] += bool(ptx) and all(capability > gpu for capability in ptx)
                sums[4] += not ptx
    return sums


def files(places):
    seen = set()
    for place in places:
        walk = os.walk(place) if os.path.isdir(place) else [(os.path.dirname(place), [], [os.path.basename(place)])]
        for folder, _, names in walk:
            for name in sorted(names):
                path = os.path.realpath(os.path.join(folder, name))
                if ".so" in name and os.path.isfile(path) and os.path.getsize(path) > 64 and path not in seen:
                    seen.add(path)
                    yield path


def main():
    gpu, total = int(sys.argv[1]), [0, 0, 0, 0, 0]
    print("modules  code for %d  PTX for %d  PTX for newer alone  no PTX  library" % (gpu, gpu))
    for path in files(sys.argv[2:]):
        try:
            sums = count(path, gpu)
        except (OSError, ValueError, struct.error) as error:
            print("%s: %s" % (path, error))
            continue
        if sums[0]:
            print("%7d %12d %11d %20d %7d  %s" % (*sums, os.path.basename(path)), flush=True)
            total = [a + b for a, b in zip(total, sums)]
    print("%7d %12d %11d %20d %7d  all" % tuple(total))


if __name__ == "__main__":
    main()
