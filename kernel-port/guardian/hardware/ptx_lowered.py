#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""How much of the PTX for newer GPUs does "gvmfence patch --retarget" make loadable on this one?

    python3 ptx_lowered.py GVMFENCE 90 COUNT SECONDS FILE-OR-FOLDER...

Of the modules in shared libraries that have PTX for newer GPUs alone (ptx_share.py), COUNT are chosen at random (seed 1).
Of each one the oldest PTX is asked for: whether gvmfence confines it, whether ptxas assembles it with its target lowered,
and whether ptxas assembles the confined text. ptxas runs with -O0: it refuses what an architecture does not have
before it optimises. It needs ptxas and no GPU; it stops after SECONDS, and says how many were asked."""
import collections
import concurrent.futures
import ctypes
import mmap
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
import time

import ptx_share

FLAG_LZ4, FLAG_ZSTD = 0x2000, 0x8000
PTXAS_SECONDS = 60


def add_length(data, at, length):
    """LZ4 goes on with a length of 15 in the bytes that follow, up to the first one that is not 255."""
    if length == 15:
        while True:
            more = data[at]
            at, length = at + 1, length + more
            if more != 255:
                break
    return at, length


def unpack_lz4(data, room):
    out, at = bytearray(), 0
    while at < len(data):
        plain, again = data[at] >> 4, data[at] & 15
        at += 1
        at, plain = add_length(data, at, plain)
        out += data[at:at + plain]
        at += plain
        if at >= len(data):
            break
        back = data[at] | data[at + 1] << 8
        at += 2
        at, again = add_length(data, at, again)
        again += 4  # the shortest repetition
        while again:
            part = out[len(out) - back:len(out) - back + again]
            out += part
            again -= len(part)
    assert len(out) <= room
    return bytes(out)


def text_of(path, entry):
    """The PTX of the entry at this offset."""
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        head, body = struct.unpack_from("<IQ", data, entry + 4)
        packed, = struct.unpack_from("<I", data, entry + 16)
        flags, _, room = struct.unpack_from("<QQQ", data, entry + 40)
        bytes_ = data[entry + head:entry + head + body]
    if flags & FLAG_LZ4:
        bytes_ = unpack_lz4(bytes_[:packed], room)
    elif flags & FLAG_ZSTD:
        zstd, out = ctypes.CDLL("libzstd.so.1"), ctypes.create_string_buffer(room)
        zstd.ZSTD_decompress.restype = ctypes.c_size_t
        zstd.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
        got = zstd.ZSTD_decompress(out, room, bytes_, packed)
        assert got <= room, "damaged"
        bytes_ = out.raw[:got]
    return bytes_.split(b"\0")[0]


def short(said):
    """A message without names and places, to count those that are alike."""
    line = (said.strip().splitlines() or ["no message"])[0]
    line = re.sub(r"^.*?(error\s*:|fatal\s*:|ptx:\d+: )", "", line)
    return re.sub(r"'[^']*gvm[^']*'|\d{3,}", "...", line).strip()[:90]


def assemble(gpu, text, folder):
    """None: ptxas accepts it. Else why not."""
    file = os.path.join(folder, "in.ptx")
    with open(file, "wb") as out:
        out.write(text)
    try:
        done = subprocess.run(["ptxas", "-O0", "-arch=sm_%d" % gpu, file, "-o", os.path.join(folder, "out.cubin")],
                              capture_output=True, text=True, timeout=PTXAS_SECONDS)
    except subprocess.TimeoutExpired:
        return "ptxas needs more than %d s" % PTXAS_SECONDS
    return short(done.stderr + done.stdout) if done.returncode else None


def ask(gvmfence, gpu, stop, path, entry):
    """(target, why it is not assembled, why it is not confined, why the confined text is not assembled)."""
    if time.time() > stop:
        return None
    text = text_of(path, entry)
    target = re.search(rb"^\.target\s+(sm_\w+)", text, re.M)
    target = target.group(1).decode() if target else "none"
    lowered = re.sub(rb"^\.target\s+sm_\w+", b".target sm_%d" % gpu, text, count=1, flags=re.M)
    with tempfile.TemporaryDirectory() as folder:
        plain = assemble(gpu, lowered, folder)
        if not target[3:].isdigit():
            plain = "%s: refused, though ptxas %s" % (target, "accepts it" if plain is None else "says: " + plain)
        patched = subprocess.run([gvmfence, "patch", "-", "--retarget", "sm_%d" % gpu], input=text, capture_output=True)
        if patched.returncode:
            return target, plain, short(patched.stderr.decode()), ""
        return target, plain, None, assemble(gpu, patched.stdout, folder)


def main():
    gvmfence, gpu, count, seconds = os.path.abspath(sys.argv[1]), *map(int, sys.argv[2:5])
    stop, newer = time.time() + seconds, []
    for path in ptx_share.files(sys.argv[5:]):
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            for offset, size in ptx_share.sections(data):
                for found in ptx_share.modules(data, offset, size):
                    ptx = [(capability, entry) for kind, capability, entry in found if kind == 1]
                    if ptx and min(ptx)[0] > gpu:
                        newer.append((path, min(ptx)[1]))
    chosen = random.Random(1).sample(newer, min(count, len(newer)))
    libraries, whys = {}, [collections.Counter(), collections.Counter(), collections.Counter()]
    with concurrent.futures.ProcessPoolExecutor() as pool:
        tasks = [(path, pool.submit(ask, gvmfence, gpu, stop, path, entry)) for path, entry in chosen]
        for path, task in tasks:
            said = task.result()
            if not said:
                continue
            sums = libraries.setdefault(os.path.basename(path), [0, 0, 0, 0])
            sums[0] += 1
            for i in range(3):
                sums[i + 1] += said[i + 1] is None
                if said[i + 1]:  # "" of the last one: it is not confined
                    whys[i][said[i + 1]] += 1
    print("%d modules with PTX for newer GPUs than %d alone; %d chosen" % (len(newer), gpu, len(chosen)))
    print("asked  assembled with a lower target  confined  confined and assembled  library")
    for name, sums in sorted(libraries.items()):
        print("%5d %30d %9d %23d  %s" % (*sums, name))
    print("%5d %30d %9d %23d  all" % tuple(map(sum, zip([0] * 4, *libraries.values()))))
    for what, why in zip(("not assembled", "not confined", "confined and not assembled"), whys):
        for reason, times in why.most_common(12):
            print("%s: %d: %s" % (what, times, reason))


if __name__ == "__main__":
    main()
