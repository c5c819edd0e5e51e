#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""Make the tables of docs/ideas.md: what ideas beyond the papers bring under ghost.

    nice tools/ideas.py build/release/gvmsim docs/ideas.md

Each scenario is one "gvmsim sweep", kept in results/ideas: a run that is there is not made
again, unless the program or the scenario has changed. A table of the document lies between two
comments, the first of which names it. With --check nothing is written, and a table that
differs is an error. --only NAME makes one table.
Only the standard library is used.
"""

import argparse
import csv
import difflib
import json
import math
import os
import re
import subprocess
import sys
import textwrap

from wrap import write_whole

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MARK = re.compile(r"(<!-- tools/ideas\.py: ([a-z]+) -->\n).*?(<!-- end -->)", re.DOTALL)
GIB = 2 ** 30
SHIPPED = ("closed-loop-8b", "eight-models-141g", "eviction-ahead", "eviction-order",
           "guardian", "guardian-fence", "guardian-paging", "gvtg", "interference", "limit-cut",
           "memory-contention", "page-or-kill", "saturation", "tensor-parallel-80g",
           "three-tenants", "two-models-80g", "vllm-diffusion-40g", "vllm-diffusion-80g",
           "vllm-lora-40g", "vllm-lora-80g", "vlm-lora-40g", "vlm-video-40g", "what-if-ideas")
IDEAS = ("clean_drop", "priority_batches", "hint_faults", "lirs", "owner_prefetch")
JITTER = {"jitter.arrivals": "gaps", "jitter.start": "5s"}  # as gvmsim validate --seeds
SLICES = ("2ms", "10ms", "100ms", "1000ms")
SHARED = ("what-if-ideas", "vllm-diffusion-40g", "memory-contention")


def on(*mechanisms):
    """A point of a sweep with these mechanisms and no other idea."""
    return {f"system.mechanisms.{name}": name in mechanisms for name in IDEAS}


def equal(timeslice):
    """A point in which server and pipeline have one timeslice, for a sweep without priorities."""
    return {f"containers.{name}.compute.timeslice": timeslice for name in ("vllm", "diffusion")}


class Runs:
    """Runs under ghost, each of a scenario and a point."""

    def __init__(self, gvmsim, folder):
        self.gvmsim, self.folder = os.path.abspath(gvmsim), folder

    def make(self, scenario, name, points, priorities=True, seeds=0):
        """A summary.json for each point, in their order; with seeds, for each seed of each."""
        os.makedirs(self.folder, exist_ok=True)
        sweep = os.path.join(self.folder, f"{scenario}-{name}.json")
        out = os.path.join(self.folder, f"{scenario}-{name}")
        content = {"scenario": scenario, "set": {"system.name": "ghost"}, "list": points}
        if seeds:
            content["seeds"] = seeds
            content["set"].update(JITTER)
        with open(sweep, "w", encoding="utf-8") as file:
            json.dump(content, file)
        command = [self.gvmsim, "sweep", sweep, "--out", out]
        if not priorities:
            for container in ("vllm", "diffusion"):
                command += ["--set", f"containers.{container}.compute.priority=null"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(out, "sweep.csv"), newline="", encoding="utf-8") as file:
            rows = sorted(csv.DictReader(file), key=lambda row: (int(row["point"]), int(row["seed"] or 0)))
        return [self.load(os.path.join(out, row["run"])) for row in rows]

    @staticmethod
    def load(folder):
        """summary.json of a run, with its configuration."""
        with open(os.path.join(folder, "summary.json"), encoding="utf-8") as file:
            summary = json.load(file)
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            summary["config"] = json.load(file)
        return summary


def value(summary, path):
    """A number of a container by its name and path, with dots."""
    name, *rest = path.split(".")
    node = summary["containers"][name]
    for part in rest:
        node = node[part]
    return node


def total(summary, key):
    """The sum of a number over all containers."""
    return sum(container[key] for container in summary["containers"].values())


def milliseconds(x):
    """A time in ms as text, in ms below a second; of a time that the run only bounds the bound."""
    if isinstance(x, dict):
        return "> " + milliseconds(x["at_least"])
    if x < 1000:
        return f"{x:.{1 if x < 10 else 0}f} ms"
    return f"{x / 1000:.{2 if x < 10000 else 1}f} s"


def gib(x):
    """Bytes as GiB."""
    return f"{x / GIB:.0f}"


def mega(x):
    """Bytes as MB or GB."""
    return f"{x / 1e6:.0f} MB" if x < 1e9 else f"{x / 1e9:.1f} GB"


def table(heads, rows):
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads)] + rows
    return "".join("| " + " | ".join(line) + " |\n" for line in lines).replace("| ---", "|---") \
        .replace("--- |", "---|")


# --- tables -------------------------------------------------------------------

MIXES = (("none of them", ()), ("`clean_drop`", ("clean_drop",)),
         ("`priority_batches`", ("priority_batches",)), ("`hint_faults`", ("hint_faults",)),
         ("these three", ("clean_drop", "priority_batches", "hint_faults")),
         ("`lirs`", ("lirs",)), ("`lirs`, `clean_drop`", ("lirs", "clean_drop")),
         ("`owner_prefetch`", ("owner_prefetch",)),
         ("`owner_prefetch`, `lirs`", ("owner_prefetch", "lirs")))


def mix(runs, scenario):
    """One scenario under each idea and some together."""
    made = runs.make(scenario, "mix", [on(*names) for _, names in MIXES])
    rows = []
    for (label, _), run in zip(MIXES, made):
        rows.append([label, str(value(run, "diffusion.images")),
                     str(value(run, "vllm.requests.completed")),
                     milliseconds(value(run, "vllm.ttft_ms.p50")),
                     milliseconds(value(run, "vllm.ttft_ms.p99")),
                     gib(total(run, "bytes_h2d")), gib(total(run, "bytes_d2h"))])
    return table(["on", "images", "requests", "median TTFT", "P99 TTFT", "GiB in",
                  "GiB out"], rows)


def shared(runs):
    """The ideas where no container has a limit."""
    return mix(runs, "what-if-ideas")


def limited(runs):
    """The ideas where the pipeline has a limit."""
    return mix(runs, "vllm-diffusion-40g")


def measures(run):
    """What of a run is shown: (name, number, text), by the applications of its containers."""
    found = []

    def add(name, x, text=str):
        found.append((name, x["at_least"] if isinstance(x, dict) else x, text(x)))

    for name, container in run["containers"].items():
        if "ttft_ms" in container:
            add(f"{name}: requests", container["requests"]["completed"])
            add(f"{name}: median TTFT", container["ttft_ms"]["p50"], milliseconds)
            add(f"{name}: P99 TTFT", container["ttft_ms"]["p99"], milliseconds)
        for key in ("images", "iterations", "rounds"):
            if key in container:
                add(f"{name}: {key}", container[key])
    add("GiB in", total(run, "bytes_h2d"), gib)
    return found


def scenarios(runs):
    """Of every shipped scenario what changes by 2 % or more, and the scenarios without that."""
    rows, same = [], []
    for scenario in SHIPPED:
        made = [measures(run) for run in
                runs.make(scenario, "scenarios", [on(), on("lirs"), on("owner_prefetch")])]
        label, changed = f"`{scenario}`", False
        for (name, plain, text), *others in zip(*made):
            if any(abs(x - plain) >= 0.02 * plain and y != text for _, x, y in others):
                rows.append([label, name, text] + [text for _, _, text in others])
                label, changed = "", True
        if not changed:
            same.append(f"`{scenario}`")
    return table(["scenario", "", "without", "`lirs`", "`owner_prefetch`"], rows) + \
        "\n" + textwrap.fill("Nothing changes by 2 % in " + ", ".join(same) + ".", 96,
                              break_on_hyphens=False) + "\n"


def by_seed(runs, scenario, seeds):
    """Changes by LIRS over seeds: (measure, mean without, mean with, change, its standard error)."""
    made = runs.make(scenario, f"seeds-{seeds}", [on(), on("lirs")], seeds=seeds)
    plain, lirs = ([measures(run) for run in part] for part in (made[:seeds], made[seeds:]))
    found = []
    for column in range(len(plain[0])):
        pairs = [(a[column][1], b[column][1]) for a, b in zip(plain, lirs)]
        moved = [b - a for a, b in pairs]
        without, change = sum(a for a, _ in pairs) / seeds, sum(moved) / seeds
        spread = math.sqrt(sum((x - change) ** 2 for x in moved) / (seeds - 1) / seeds)
        name = plain[0][column][0]
        if without and "median" not in name and name != "GiB in":
            found.append((name, without, without + change, change / without, spread / without))
    return found


def means(name, x):
    """A mean over seeds as text."""
    return milliseconds(x) if "TTFT" in name else f"{x:.1f}" if x < 100 else f"{x:.0f}"


def percent(change):
    """With its sign, and none that rounds to nothing is below zero."""
    return f"{round(100 * change, 1) + 0:+.1f} %"


def change_table(runs, names, seeds):
    """Rows of throughput and P99 TTFT that LIRS changes, and the scenarios without any."""
    rows, same = [], []
    for scenario in names:
        label = f"`{scenario}`"
        for name, plain, lirs, change, error in by_seed(runs, scenario, seeds):
            if abs(change) < 0.0005 and error < 0.0005:
                continue
            rows.append([label, name, means(name, plain), means(name, lirs),
                         percent(change), f"{100 * error:.1f} %"])
            label = ""
        if label:
            same.append(label)
    return table(["scenario", "", "without", "`lirs`", "change", "standard error"], rows), same


def seeds(runs):
    """Throughput and P99 TTFT of every scenario that can run under ghost, over ten seeds."""
    text, same = change_table(runs, SHIPPED, 10)
    return text + "\n" + textwrap.fill("Nothing changes in " + ", ".join(same) + ".", 96,
                                       break_on_hyphens=False) + "\n"


def many(runs):
    """The same over 100 seeds, where ten leave a loss of 2 % open."""
    return change_table(runs, ("page-or-kill", "vllm-diffusion-40g", "vlm-lora-40g",
                               "vlm-video-40g"), 100)[0]


def slices(runs):
    """What swapping before the turn could hide at most, and what owner_prefetch does, by slice."""
    rows = []
    for scenario in SHARED:
        label = f"`{scenario}`"
        made = runs.make(scenario, "shipped", [on(), on("owner_prefetch")]) + \
            runs.make(scenario, "slices", [equal(timeslice) | on(*names) for timeslice in SLICES
                                           for names in ((), ("owner_prefetch",))],
                      priorities=False)
        for timeslice, run, owner in zip(("as shipped",) + SLICES, made[0::2], made[1::2]):
            seconds = run["sim_seconds"]
            gpu = run["gpus"]["gpu0"]
            turn = (gpu["busy_share"] + gpu["stalled_share"]) * seconds / gpu["switches"]
            copied = (total(run, "bytes_h2d") + total(run, "bytes_d2h")) / gpu["switches"]
            carries = turn * run["config"]["gpu"]["link"]["bandwidth"]
            waits = total(run, "stall_h2d_seconds") + total(run, "stall_d2h_seconds")
            rows.append([label, timeslice.replace("000ms", " s").replace("ms", " ms"),
                         milliseconds(1000 * turn), mega(copied), mega(carries),
                         f"{100 * gpu['busy_share']:.0f} %", f"{100 * waits / seconds:.0f} %"] +
                        [f"{value(some, 'vllm.requests.completed')}; "
                         f"{value(some, 'diffusion.images')}" for some in (run, owner)])
            label = ""
    return table(["scenario", "slice", "turn", "copied in it", "the link carries", "GPU at work",
                  "waits for copies", "requests; images", "with `owner_prefetch`"], rows)


TABLES = {made.__name__: made for made in (shared, limited, scenarios, seeds, many, slices)}


def main():
    """Write the tables, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("gvmsim", help="the program, of a release build")
    parser.add_argument("document", help="docs/ideas.md")
    parser.add_argument("--only", choices=TABLES, help="make one table")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    parser.add_argument("--runs", default=os.path.join(SOURCE, "results", "ideas"),
                        help="where runs are kept")
    options = parser.parse_args()

    try:
        with open(options.document, encoding="utf-8") as file:
            before = file.read()
    except OSError as error:
        sys.exit(f"ideas.py: {options.document}: {error.strerror}")
    named = {match.group(2) for match in MARK.finditer(before)}
    unknown = named - TABLES.keys()
    if unknown:
        sys.exit(f"{options.document}: no table is called {', '.join(sorted(unknown))}")

    runs = Runs(options.gvmsim, options.runs)

    def made(match):
        if options.only not in (None, match.group(2)):
            return match.group(0)
        return match.group(1) + TABLES[match.group(2)](runs) + match.group(3)

    try:
        after = MARK.sub(made, before)
    except OSError as error:
        sys.exit(f"ideas.py: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"ideas.py: gvmsim sweep ended with {error.returncode}, nothing is written")
    except KeyboardInterrupt:
        sys.exit("ideas.py: interrupted, nothing is written; runs that were made are kept")
    if options.check:
        sys.stdout.writelines(difflib.unified_diff(
            before.splitlines(True), after.splitlines(True), options.document, "computed"))
        if after != before:
            sys.exit("without --check the document is written anew")
        return
    try:
        write_whole(options.document, after)
    except OSError as error:
        sys.exit(f"ideas.py: {options.document}: {error.strerror}")


if __name__ == "__main__":
    main()
