#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
r"""Arrivals of an LLM server's requests: a part of a trace, faster by a divisor.

    arrivals.py traces/burstgpt1_gvm3256.trace --from 50400 --divide 240 --seconds 60 \
        --out arrivals.csv

The output is an arrivals CSV that the kit's server and the simulator (app.trace.file) read.
The input is what gvmsim reads: the compact form, an arrivals CSV, or a public BurstGPT CSV.
Traces of BurstGPT are licensed under CC-BY-4.0; keep the attribution in traces/README.md.
"""

import argparse
import ctypes
import ctypes.util
import csv
import os
import subprocess
import sys

COLUMNS = ("t_trace_s", "request_tokens", "response_tokens_gvm_generated",
           "response_tokens_true_est")
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
CONTENT_MAX = 1 << 26


def decompress(path, data):
    """The content of a zstd frame, by libzstd or by the program zstd."""
    name = ctypes.util.find_library("zstd") or "libzstd.so.1"
    try:
        library = ctypes.CDLL(name)
    except OSError:
        return subprocess.run(["zstd", "-dcq", path], check=True, stdout=subprocess.PIPE).stdout
    library.ZSTD_decompress.restype = ctypes.c_size_t
    library.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t,
                                        ctypes.c_char_p, ctypes.c_size_t]
    content = ctypes.create_string_buffer(CONTENT_MAX)
    size = library.ZSTD_decompress(content, CONTENT_MAX, data, len(data))
    if size > CONTENT_MAX:
        raise ValueError("is no valid zstd frame")
    return ctypes.string_at(content, size)


def read_compact(content):
    """Rows of the compact form, whose bytes sim/trace/trace_file.c tells."""
    if content[:9] != b"GVMTRACE\1" or not b"" < content[9:10] <= b"\3":
        raise ValueError("is no trace of version 1")
    two_responses, hashes, at = content[9] & 1, content[9] & 2, 10

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            if at >= len(content):
                raise ValueError("is cut off")
            byte = content[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    count, _, _, attribution = (varint() for _ in range(4))
    at += attribution
    hash_tokens = varint() if hashes else 0
    rows, arrival_ns = [], 0
    for _ in range(count):
        arrival_ns += varint()
        prompt, generated = varint(), varint()
        rows.append((arrival_ns / 1e9, prompt, generated,
                     varint() if two_responses else generated))
        for _ in range(-(-prompt // hash_tokens) if hash_tokens else 0):
            varint()  # one for each so many tokens of the prompt
    return rows


def read_csv(path):
    """Rows of an arrivals CSV or of a public BurstGPT CSV, without recorded failures."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    if rows and "Timestamp" in rows[0]:
        names = ("Timestamp", "Request tokens", "Response tokens", "Response tokens")
    else:
        names = COLUMNS
    try:
        parsed = [(float(row[names[0]]), *(int(row[name]) for name in names[1:]))
                  for row in rows]
    except KeyError as error:
        raise ValueError(f"has no column {error}") from None
    return [row for row in parsed if row[2]]


def read_trace(path):
    """(seconds, prompt tokens, answer as generated, answer as recorded) of each request."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:4] == ZSTD_MAGIC:
        return read_compact(decompress(path, data))
    return read_csv(path)


def cut(rows, start_s, divide, seconds):
    """The requests from start_s on, divide times faster, of so many seconds."""
    end_s = start_s + divide * seconds
    return [((row[0] - start_s) / divide, *row[1:]) for row in rows
            if start_s <= row[0] < end_s]


def write(path, rows):
    """An arrivals CSV."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(",".join(COLUMNS) + "\n")
        for row in rows:
            file.write(f"{row[0]:.6f},{row[1]},{row[2]},{row[3]}\n")


def describe(rows, seconds):
    """One line for people."""
    count = max(1, len(rows))
    return (f"{len(rows)} requests in {seconds:g} s, {len(rows) / seconds:.2f} a second, "
            f"mean prompt {sum(row[1] for row in rows) / count:.0f} tokens, "
            f"mean answer {sum(row[2] for row in rows) / count:.0f} tokens")


def main():
    """Read, cut, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--from", dest="start_s", type=float, default=0,
                        help="seconds of the trace to leave out")
    parser.add_argument("--divide", type=float, default=1, help="divide times by this")
    parser.add_argument("--seconds", type=float, required=True, help="length of the output")
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    if arguments.divide <= 0 or arguments.seconds <= 0:
        parser.error("--divide and --seconds must be above 0")
    try:
        rows = cut(read_trace(arguments.trace), arguments.start_s, arguments.divide,
                   arguments.seconds)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        sys.exit(f"arrivals.py: {arguments.trace}: {error}")
    write(arguments.out, rows)
    print(f"{os.path.basename(arguments.out)}: {describe(rows, arguments.seconds)}")


if __name__ == "__main__":
    main()
