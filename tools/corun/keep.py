#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""A small copy of what corun.py has measured, to be kept in the repository.

    keep.py OUT FOLDER

FOLDER gets manifest.json, summary.csv (rows of summarize.py), and files of each process of
each run. RUN.PROCESS.requests.csv has a row for each request (TTFT, mean and longest gap
between tokens), RUN.PROCESS.seconds.csv a row for each second of a server's steps. Images and
phases are kept whole, and so are RUN.PROCESS.rounds.csv, the steps of a program: the time
between two, and of each. profiles/ has the profiles of programs. Dates are microseconds since
the run began.
Only the standard library is used.
"""

import argparse
import json
import os
import shutil
import sys

import logs
import summarize

REQUEST_COLUMNS = ("arrival_us", "prompt_tokens", "wanted_tokens", "generated_tokens",
                   "ttft_us", "itl_mean_us", "itl_max_us")
SECOND_COLUMNS = ("second", "steps", "step_us_mean", "launch_us_mean", "gpu_us_mean",
                  "decodes_mean", "prefill_tokens", "kv_tokens_mean", "waiting_max")
IMAGE_COLUMNS = ("start_us", "end_us", "launched_us", "gpu_end_us", "steps")
ROUND_COLUMNS = ("gap_us", "step_us")


def keep_server(source, target, run):
    """The requests and the steps of an LLM server."""
    keep_requests(source, target, run)
    keep_steps(source, target)


def keep_requests(source, target, run):
    """A row for each request; of a request without a token, empty TTFT and gaps."""
    rows = []
    for request in logs.read_requests(source + ".requests.json", run["start_ns"]):
        times = request["token_us"]
        gaps = [b - a for a, b in zip(times, times[1:])]
        rows.append((request["arrival_us"], request["prompt_tokens"], request["wanted_tokens"],
                     len(times), times[0] - request["arrival_us"] if times else "",
                     sum(gaps) // len(gaps) if gaps else "", max(gaps) if gaps else ""))
    logs.write_rows(target + ".requests.csv", REQUEST_COLUMNS, rows)


def keep_steps(source, target):
    """A row for each second in which a step began."""
    seconds = {}
    for step in logs.read_rows(source + ".steps.csv"):
        seconds.setdefault(step["start_us"] // 1000000, []).append(step)
    rows = []
    for second, steps in sorted(seconds.items()):
        def mean(*keys, steps=steps):
            return sum(step[key] for step in steps for key in keys) // len(steps)

        rows.append((second, len(steps),
                     mean("schedule_us", "launch_us", "wait_us", "after_us"),
                     mean("launch_us"), mean("gpu_us"), mean("decodes"),
                     sum(step["prefill_tokens"] for step in steps), mean("kv_tokens"),
                     max(step["waiting"] for step in steps)))
    logs.write_rows(target + ".seconds.csv", SECOND_COLUMNS, rows)


def keep_images(source, target, run):
    """A row for each image, and its phases."""
    def since_us(date_ns):
        return "" if date_ns == "" else (date_ns - run["start_ns"]) // 1000

    logs.write_rows(target + ".images.csv", IMAGE_COLUMNS, [
        (since_us(image["start_ns"]), since_us(image["end_ns"]),
         since_us(image["launched_ns"]), since_us(image["gpu_end_ns"]), image["steps"])
        for image in logs.read_rows(source + ".images.csv")])
    logs.write_rows(target + ".phases.csv", logs.PHASE_COLUMNS, [
        tuple(phase.values()) for phase in logs.read_rows(source + ".phases.csv")])


def keep_rounds(source, target, run):
    """The steps of a program, one after the other."""
    rows, before_us = [], 0
    for row in logs.read_rows(source + ".rounds.csv"):
        rows.append((row["begin_us"] - before_us, row["end_us"] - row["begin_us"]))
        before_us = row["end_us"]
    logs.write_rows(target + ".rounds.csv", ROUND_COLUMNS, rows)


def keep_profiles(out, folder, manifest):
    """The profiles of programs, under the paths that the manifest has."""
    for path in manifest.get("profiles", {}).values():
        target = os.path.join(folder, path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(os.path.join(out, path), target)


KEEP = {"llm": keep_server, "diffusion": keep_images, "program": keep_rounds}


def main():
    """Copy what is to be kept."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", metavar="OUT")
    parser.add_argument("folder", metavar="FOLDER")
    arguments = parser.parse_args()
    try:
        with open(os.path.join(arguments.out, "manifest.json"), encoding="utf-8") as file:
            manifest = json.load(file)
        os.makedirs(arguments.folder, exist_ok=True)
        for name, run in manifest["runs"].items():
            for process, facts in run["processes"].items():
                source = os.path.join(arguments.out, name, process)
                target = os.path.join(arguments.folder, f"{name}.{process}")
                KEEP[facts["app"]](source, target, run)
        keep_profiles(arguments.out, arguments.folder, manifest)
        summarize.write(os.path.join(arguments.folder, "summary.csv"),
                        summarize.rows_of(arguments.out))
        with open(os.path.join(arguments.folder, "manifest.json"), "w",
                  encoding="utf-8") as file:
            json.dump(manifest, file, indent=1)
            file.write("\n")
    except (OSError, KeyError, ValueError) as error:
        sys.exit(f"keep.py: {arguments.out}: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
