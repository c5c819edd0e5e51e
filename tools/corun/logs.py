# SPDX-License-Identifier: MIT OR GPL-2.0
"""The files that a run leaves, written and read.

NAME.requests.json is what "vllm bench serve --save-result --save-detailed" writes, as far as
"gvmcollect logs" reads it. NAME.images.csv is its log of images. Dates in both are of
CLOCK_MONOTONIC.
Only the standard library is used.
"""

import csv
import json

STEP_COLUMNS = ("start_us", "schedule_us", "launch_us", "wait_us", "after_us", "gpu_us",
                "prefill_tokens", "decodes", "prefills", "kv_tokens", "attention_pairs",
                "waiting")
IMAGE_COLUMNS = ("start_ns", "end_ns", "launched_ns", "gpu_end_ns", "steps")
PHASE_COLUMNS = ("image", "phase", "index", "begin_us", "end_us")
ROUND_COLUMNS = ("begin_us", "end_us")  # of a step of a program, since the run began

REJECTED = "rejected: it never fits"
UNFINISHED = "unfinished at the end of the run"


def write_rows(path, columns, rows):
    """A CSV file."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def read_rows(path):
    """A CSV file as dictionaries of integers; text and empty fields stay text."""
    def value(text):
        return int(text) if text.lstrip("-").isdigit() else text

    with open(path, newline="", encoding="utf-8") as file:
        return [{key: value(text) for key, text in row.items()}
                for row in csv.DictReader(file)]


def write_requests(path, start_ns, requests, rejected):
    """The requests of a run, in vLLM's form. A gap between tokens is exact to a microsecond."""
    start_us = start_ns // 1000
    columns = {key: [] for key in ("start_times", "ttfts", "itls", "input_lens", "output_lens",
                                   "errors", "wanted_lens", "preemptions")}
    for request in requests:
        times = request.token_us
        values = dict(
            start_times=round((start_us + request.arrival_us) / 1e6, 6),
            ttfts=(times[0] - request.arrival_us) / 1e6 if times else 0.0,
            itls=[(b - a) / 1e6 for a, b in zip(times, times[1:])],
            input_lens=request.prompt_tokens, output_lens=len(times),
            errors="" if request.ended else REJECTED if request in rejected else UNFINISHED,
            wanted_lens=request.output_tokens, preemptions=request.preemptions)
        for key, value in values.items():
            columns[key].append(value)
    result = dict(num_prompts=len(requests), completed=columns["errors"].count(""), **columns)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(result, file, separators=(",", ":"))
        file.write("\n")


def read_requests(path, start_ns):
    """What write_requests() wrote: dictionaries with arrival_us, token_us, and the counts."""
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    requests = []
    for i, start in enumerate(data["start_times"]):
        arrival_us = round(start * 1e6) - start_ns // 1000
        token_us = []
        if data["output_lens"][i]:
            token_us.append(arrival_us + round(data["ttfts"][i] * 1e6))
            for gap in data["itls"][i]:
                token_us.append(token_us[-1] + round(gap * 1e6))
        requests.append(dict(
            arrival_us=arrival_us, token_us=token_us, prompt_tokens=data["input_lens"][i],
            wanted_tokens=data["wanted_lens"][i],
            error=data["errors"][i], preemptions=data["preemptions"][i]))
    return requests
