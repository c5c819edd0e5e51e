#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""One table of what corun.py has measured: a row for each process of each run.

    summarize.py OUT... [--csv FILE]

Times count over all requests that arrived. A request that never got a token waits to the end of
its run, so its TTFT is at least what stands here. ITL: all gaps between tokens. Percentiles are
those of gvmsim: linear between the two nearest ranks. Images and a program's steps count that
ended within the run's seconds; denoising steps a second count parts of images, too.
Only the standard library is used.
"""

import argparse
import csv
import json
import os
import sys

import logs

COLUMNS = ("run", "process", "requests_arrived", "completed", "without_token", "preemptions",
           "ttft_ms_mean", "ttft_ms_p50", "ttft_ms_p90", "ttft_ms_p99",
           "itl_ms_mean", "itl_ms_p50", "itl_ms_p90", "itl_ms_p99", "tokens_per_s",
           "steps", "step_ms_mean", "decodes_a_step", "prefill_tokens_a_step",
           "launch_ms_a_step",
           "images", "image_latency_s_mean", "image_latency_s_p50", "image_latency_s_p99",
           "denoising_steps_per_s", "steps_per_s", "step_ms_p50", "step_ms_p99",
           "sm_mhz_mean", "sm_mhz_min")


def percentile(values, percent):
    """As stats_percentile_u64() of gvmsim."""
    values = sorted(values)
    rank, above = divmod((len(values) - 1) * percent, 100)
    weighted = values[rank] * (100 - above)
    if above:
        weighted += values[rank + 1] * above
    return weighted / 100


def statistics(key, values, percents, scale, digits):
    """Mean and percentiles under the keys of a row; nothing of nothing."""
    if not values:
        return {}
    row = {f"{key}_mean": f"{sum(values) / len(values) / scale:.{digits}f}"}
    for percent in percents:
        row[f"{key}_p{percent}"] = f"{percentile(values, percent) / scale:.{digits}f}"
    return row


def of_requests(prefix, run):
    """The columns of an LLM server."""
    requests = logs.read_requests(prefix + ".requests.json", run["start_ns"])
    steps = logs.read_rows(prefix + ".steps.csv")
    seconds, end_us = run["seconds"], int((run["seconds"] + run["drain_s"]) * 1e6)
    ttfts = [(r["token_us"] + [end_us])[0] - r["arrival_us"] for r in requests]
    gaps = [b - a for r in requests for a, b in zip(r["token_us"], r["token_us"][1:])]
    tokens = sum(1 for r in requests for date in r["token_us"] if date <= seconds * 1e6)
    row = dict(requests_arrived=len(requests), completed=sum(not r["error"] for r in requests),
               without_token=sum(not r["token_us"] for r in requests),
               preemptions=sum(r["preemptions"] for r in requests),
               tokens_per_s=f"{tokens / seconds:.1f}", steps=len(steps))
    row.update(statistics("ttft_ms", ttfts, (50, 90, 99), 1e3, 1))
    row.update(statistics("itl_ms", gaps, (50, 90, 99), 1e3, 2))
    if steps:
        parts = ("schedule_us", "launch_us", "wait_us", "after_us")
        total = [sum(step[part] for part in parts) for step in steps]
        for key, values, scale, digits in (
                ("step_ms_mean", total, 1e3, 2),
                ("decodes_a_step", [step["decodes"] for step in steps], 1, 1),
                ("prefill_tokens_a_step", [step["prefill_tokens"] for step in steps], 1, 1),
                ("launch_ms_a_step", [step["launch_us"] for step in steps], 1e3, 2)):
            row[key] = f"{sum(values) / len(steps) / scale:.{digits}f}"
    return row


def of_images(prefix, run):
    """The columns of a diffusion pipeline."""
    images = logs.read_rows(prefix + ".images.csv")
    phases = logs.read_rows(prefix + ".phases.csv")
    end_ns = run["start_ns"] + int(run["seconds"] * 1e9)
    done = [image["end_ns"] - image["start_ns"] for image in images
            if image["end_ns"] and image["end_ns"] <= end_ns]
    steps = sum(phase["phase"] == "step" and phase["end_us"] <= run["seconds"] * 1e6
                for phase in phases)
    row = dict(images=len(done), denoising_steps_per_s=f"{steps / run['seconds']:.2f}")
    row.update(statistics("image_latency_s", done, (50, 99), 1e9, 3))
    return row


def of_steps(rounds, seconds):
    """The columns of a program whose steps have these begins and ends in us."""
    done = [end - begin for begin, end in rounds if end <= seconds * 1e6]
    row = dict(steps=len(done), steps_per_s=f"{len(done) / seconds:.3f}")
    row.update(statistics("step_ms", done, (50, 99), 1e3, 3))
    return row


def of_rounds(prefix, run):
    """The columns of a program."""
    rounds = [tuple(row.values()) for row in logs.read_rows(prefix + ".rounds.csv")]
    return of_steps(rounds, run["seconds"])


ROWS = {"llm": of_requests, "diffusion": of_images, "program": of_rounds}


def rows_of(folder):
    """A row for each process of each run of a folder that corun.py wrote."""
    path = os.path.join(folder, "manifest.json")
    with open(path, encoding="utf-8") as file:
        manifest = json.load(file)
    rows = []
    for name, run in manifest["runs"].items():
        for process, facts in run["processes"].items():
            prefix = os.path.join(folder, name, process)
            row = dict(run=name, process=process)
            row.update(ROWS[facts["app"]](prefix, run))
            for key, mhz in (run["sm_mhz"] or {}).items():
                row["sm_mhz_" + key] = mhz
            rows.append(row)
    return rows


def write(path, rows):
    """Rows as a CSV file."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def table(rows):
    """Lines for people: the columns that a row has."""
    lines = []
    for row in rows:
        lines.append(f"{row['run']} {row['process']}")
        for group in ("requests_arrived completed without_token preemptions tokens_per_s",
                      "ttft_ms_mean ttft_ms_p50 ttft_ms_p90 ttft_ms_p99",
                      "itl_ms_mean itl_ms_p50 itl_ms_p90 itl_ms_p99",
                      "images image_latency_s_mean image_latency_s_p50 image_latency_s_p99 "
                      "denoising_steps_per_s",
                      "steps steps_per_s step_ms_mean step_ms_p50 step_ms_p99 decodes_a_step "
                      "prefill_tokens_a_step launch_ms_a_step"):
            cells = [f"{key} {row[key]}" for key in group.split() if key in row]
            if cells:
                lines.append("    " + "  ".join(cells))
    return lines


def main():
    """Read, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", metavar="OUT")
    parser.add_argument("--csv", help="write the rows to this file")
    arguments = parser.parse_args()
    rows = []
    for folder in arguments.folders:
        try:
            rows += rows_of(folder)
        except (OSError, KeyError, ValueError) as error:
            sys.exit(f"summarize.py: {folder}: {type(error).__name__}: {error}")
    print("\n".join(table(rows)))
    if arguments.csv:
        write(arguments.csv, rows)


if __name__ == "__main__":
    main()
