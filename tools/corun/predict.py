#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""Predict runs that keep.py has kept, and put predicted and measured values side by side.

    predict.py FOLDER... --measured FOLDER/alone [--own] [--deviations DEVIATIONS.md]
    predict.py FOLDER --ahead PLAN.json

Every run of each FOLDER is simulated: its arrivals, memory, timeslices and MPS clients, with
the launches and the host's work that measure.py found of the applications alone. The host's
time for a launch differs between sessions. It comes from the server's run alone that is most
like the run: with the same share of the SMs, the same arrivals, of the same FOLDER. With --own
it is that of the run itself: what is left is the error of sharing. The speed at which the host
services faults differs between sessions, too. It comes from the runs of the same FOLDER in
which a pipeline that pages was alone: so their images are no predictions. A program is what
gvmsim imports of its profile, which is that of the same FOLDER if it has one.

A row has predicted over measured, minus one, of TTFT and ITL (median and P99), the median
image, and a program's steps (median, P99, and how many a second). All requests that arrived
count. A value that the run only bounds has no error. The last lines have the median of all
errors, of runs alone and together, and for each FOLDER how many pairs of its runs that differ
by more than 20 % are predicted in the measured order. --deviations rewrites the tables between
marks in a document.

With --ahead, the runs of a plan are predicted that need not have been run yet, from the
profiles in FOLDER, which is one of corun.py or keep.py: a row of CSV for each value. So a
prediction can be kept before anybody has seen the run. The plan has programs alone.
Only the standard library is used.
"""

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile

import arrivals
import collect
import kinds
import logs
import plan as plans
from kinds import KINDS

MARK = "<!-- tools/corun/predict.py: {} -->\n"
END = "<!-- end -->\n"


def new_shapes_ms(gpu):
    """Host time of a step for a number of tokens that is new (sim/apps/llm_shapes.h)."""
    app = kinds.constants("app", KINDS["llm"].profile)
    products = int(app["weight_matrices"]) // int(app["layers"])
    return products * float(app["host_per_new_shape"].removesuffix("us")) / 1e3 / \
        kinds.host_speed(gpu)


class Kept:
    """A folder that keep.py wrote."""

    def __init__(self, folder, gpu):
        self.folder, self.new_shapes_ms = folder, new_shapes_ms(gpu)
        self.fault_speed = None  # of the host; None: not known
        with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
            self.manifest = json.load(file)
        with open(os.path.join(folder, "summary.csv"), newline="", encoding="utf-8") as file:
            self.rows = {(row["run"], row["process"]): row for row in csv.DictReader(file)}

    def group(self, run):
        """The plan's group of a run."""
        return collect.group_of(run, self.manifest["plan"])

    def load(self, run, process):
        """What decides the host's work of a server: arrivals, and the share of the SMs."""
        name = run.split(".", 1)[1]
        planned = next(r for r in self.group(run)["runs"] if r["name"] == name)
        facts = self.manifest["runs"][run]["processes"][process]
        return planned["processes"][process].get("arrivals"), facts.get("mps_percent", 100)

    def has_steps(self, run, process):
        """Has a server made a step?"""
        return float(self.rows[run, process]["steps"] or 0) > 0

    def launch_ms(self, run, process):
        """Host time to launch a step, less what products of new shapes took in it."""
        row = self.rows[run, process]
        if not self.has_steps(run, process):
            raise ValueError(f"{run}: {process} made no step")
        admitted = min(1, float(row["requests_arrived"]) / float(row["steps"]))
        return float(row["launch_ms_a_step"]) - self.new_shapes_ms * admitted

    def apps(self, run):
        """The application of each process, by name."""
        return {process: facts["app"] for process, facts in
                self.manifest["runs"][run]["processes"].items()}

    def alone_steps(self, program):
        """The file with the steps of a program in a run alone, with all SMs. None: none."""
        for run, facts in self.manifest["runs"].items():
            for process, what in facts["processes"].items():
                path = os.path.join(self.folder, f"{run}.{process}.rounds.csv")
                if len(facts["processes"]) == 1 and what.get("mps_percent", 100) == 100 and \
                        plans.program_of(self.group(run)["processes"][process]) == program \
                        and os.path.exists(path):
                    return path
        return None

    def paging_alone(self):
        """(run, process) of each pipeline that pages and was alone."""
        for run, facts in self.manifest["runs"].items():
            (process, *others) = facts["processes"]
            planned = self.group(run)["processes"][process]
            if not others and "offload" in planned.get("args", {}):
                yield run, process

    def alone(self):
        """(run, process) of each server that was alone and made steps."""
        for run, facts in self.manifest["runs"].items():
            processes = facts["processes"]
            if len(processes) == 1:
                ((process, what),) = processes.items()
                if what["app"] == "llm" and self.has_steps(run, process):
                    yield run, process


class Ahead(Kept):
    """Runs of a plan that need not have been run yet, and a folder with profiles."""

    def __init__(self, folder, plan):
        self.folder, self.fault_speed, runs, profiles = folder, None, {}, {}
        for group in plan["groups"]:
            for run in group["runs"]:
                runs[f"{group['name']}.{run['name']}"] = dict(
                    seconds=run["seconds"], mps=bool(group.get("mps")),
                    drain_s=run.get("drain_s", plans.DEFAULT_DRAIN_S), processes={
                        name: self.facts(group["processes"][name], settings)
                        for name, settings in run["processes"].items()})
            for name, process in group["processes"].items():
                program = plans.program_of(process)
                if program is None:
                    raise ValueError(f"{group['name']}.{name}: --ahead needs a program")
                profiles[program] = os.path.join("profiles", program + ".json.gz")
        self.manifest = dict(plan=plan, runs=runs, profiles=profiles)

    @staticmethod
    def facts(process, settings):
        """What a manifest says of a process in a run."""
        return {key: value for key, value in dict(process, **settings).items()
                if key in ("app", "mps_percent", "timeslice_us")}

    def write(self, options, out):
        """Predict all runs, then write them."""
        rows = [(run, process, column, f"{value:.3f}")
                for run in self.manifest["runs"]
                for process, found in simulate(options, [self], self, run).items()
                for column, value in found.items() if value is not None]
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("run", "process", "metric", "predicted"))
        writer.writerows(rows)


def launch_ms(folders, kept, run, process):
    """As in the run alone that is most like this one: the same arrivals count more than the
    same folder, and the same share of the SMs counts most."""
    wanted = kept.load(run, process)
    best, best_rank = None, -1
    for other in [kept] + [f for f in folders if f is not kept]:
        for alone_run, alone_process in other.alone():
            load = other.load(alone_run, alone_process)
            rank = 4 * (load[1] == wanted[1]) + 2 * (load[0] == wanted[0]) + (other is kept)
            if rank > best_rank:
                best, best_rank = other.launch_ms(alone_run, alone_process), rank
    if best is None:
        raise ValueError("no FOLDER has a server alone that made a step")
    return best


class Scene(kinds.Scene):
    """A kept run, whose constants come from all folders."""

    def __init__(self, options, folders, kept, run):
        profiles = {}
        for folder in folders + [kept]:  # the last one counts
            profiles.update(collect.profiles_of(folder.folder, folder.manifest))
        if not options.measured and set(kept.apps(run).values()) != {"program"}:
            raise ValueError(f"{run}: a server or a pipeline needs --measured")
        super().__init__(kept.manifest["runs"][run], kept.group(run), options.gpu,
                         options.gvmsim, options.measured, profiles=profiles)
        self.own, self.folders, self.kept, self.name = options.own, folders, kept, run

    def alone_steps(self, program):
        """Of the same folder: the same host, an hour apart at most."""
        return self.kept.alone_steps(program)

    def decode_launch_us(self, process):
        """Of the run itself or of the one most like it, a mean over all steps."""
        if self.own:
            return self.kept.launch_ms(self.name, process) * 1e3
        return launch_ms(self.folders, self.kept, self.name, process) * 1e3


def write_arrivals(kept, run, process, folder):
    """The trace of a process, if it has one."""
    path = os.path.join(kept.folder, f"{run}.{process}.requests.csv")
    if os.path.exists(path):
        arrivals.write(os.path.join(folder, f"{process}.arrivals.csv"),
                       [(row["arrival_us"] / 1e6, row["prompt_tokens"], row["wanted_tokens"],
                         row["wanted_tokens"]) for row in logs.read_rows(path)])


def fault_speed(options, folders, kept):
    """How fast the host serviced faults, over the GPU's profile. None: no pipeline that pages
    was alone. A part of an image's time is inverse to it, the rest does not depend on it."""
    speeds = []
    for run, process in kept.paging_alone():
        metric = KINDS["diffusion"].metrics[0][1]
        fast, slow = (simulate(options, folders, kept, run, speed)[process][metric]
                      for speed in (1, 0.5))
        measured = float(kept.rows[run, process][metric])
        speeds.append((slow - fast) / max(measured - fast + slow - fast, 1e-9))
    return math.exp(sum(map(math.log, speeds)) / len(speeds)) if speeds else None


def simulate(options, folders, kept, run, speed=None):
    """What a simulated run says of each process: its metrics, by column of summary.csv. speed:
    of the host's service of faults; None: the folder's, if it is known."""
    facts, scene = kept.manifest["runs"][run], Scene(options, folders, kept, run)
    speed = speed or kept.fault_speed
    with tempfile.TemporaryDirectory() as folder:
        scenario = collect.scenario(run, scene, folder)
        if speed:
            scenario["gpu"]["fault"] = dict(host_speed=round(speed, 3))
        for process in facts["processes"]:
            write_arrivals(kept, run, process, folder)
        path = os.path.join(folder, "scenario.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(scenario, file)
        out = os.path.join(folder, "results")
        done = subprocess.run([options.gvmsim, "run", path, "--out", out],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            raise ValueError(f"{run}: {said[-1]}")
        with open(os.path.join(out, "summary.json"), encoding="utf-8") as file:
            summary = json.load(file)["containers"]
        with open(os.path.join(out, "requests.csv"), newline="", encoding="utf-8") as file:
            records = list(csv.DictReader(file))
    return {process: KINDS[app].predicted(
        summary[process], [r for r in records if r["container"] == process], facts)
            for process, app in kept.apps(run).items()}


def errors(kept, run, predicted):
    """For each process of a run: its errors by metric, of those that both have."""
    result = {}
    for process, app in kept.apps(run).items():
        row, found = kept.rows[run, process], {}
        for name, column, *_ in KINDS[app].metrics:
            value = predicted[process].get(column)
            if row.get(column) and isinstance(value, (int, float)) \
                    and float(row[column]) > 0 and value > 0:
                found[name] = value / float(row[column])
        result[process] = found
    return result


def cell(ratio):
    """A ratio as an error in percent."""
    return f"{round(100 * (ratio - 1)):+d} %" if round(100 * (ratio - 1)) else "0 %"


def columns(kept):
    """Names of the metrics of all kinds that a folder has."""
    apps = {app for run in kept.manifest["runs"] for app in kept.apps(run).values()}
    return [metric[0] for app, kind in KINDS.items() if app in apps for metric in kind.metrics]


def table(kept, results):
    """A document's table: a row for each process. The image of a run with one pipeline stands
    in the run's first row."""
    names = columns(kept)
    lines = ["| run | " + " | ".join(names) + " |\n", "|---|" + "---|" * len(names) + "\n"]
    for run, processes in results.items():
        pipelines = [process for process, app in kept.apps(run).items()
                     if KINDS[app].in_first_row]
        joined = len(pipelines) == 1 and len(processes) > 1
        rows = [process for process in processes if not joined or process not in pipelines]
        for i, process in enumerate(rows):
            shared = processes[pipelines[0]] if joined and not i else {}
            found = {**processes[process], **shared}
            label = run.split(".", 1)[1] + (f", {process}" if len(rows) > 1 else "")
            lines.append(f"| {label} | " + " | ".join(
                cell(found[name]) if name in found else "" for name in names) + " |\n")
    return lines


def rewrite(path, tables):
    """Put each table between its marks."""
    with open(path, encoding="utf-8") as file:
        lines = file.readlines()
    for name, new in tables.items():
        mark = MARK.format(name)
        if mark not in lines:
            raise ValueError(f"{path}: no line '{mark.strip()}'")
        begin = lines.index(mark) + 1
        lines[begin:lines.index(END, begin)] = new
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.writelines(lines)
    os.replace(path + ".new", path)


def median_error(ratios):
    """Of exp(|ln ratio|) - 1, in percent."""
    logarithms = sorted(abs(math.log(ratio)) for ratio in ratios)
    return 100 * (math.exp(logarithms[len(logarithms) // 2]) - 1)


def in_order(kept, results):
    """Pairs of runs of a folder in which a process and a metric differ by more than 20 %, and
    how many of them are predicted in the measured order: (pairs, right, the others' names)."""
    values = {}
    for run, processes in results.items():
        for process, found in processes.items():
            kind = KINDS[kept.apps(run)[process]]
            for name, column, *_ in kind.metrics:
                if name in found:
                    measured = float(kept.rows[run, process][column])
                    values.setdefault((process, name), []).append(
                        (measured, measured * found[name], run.split(".", 1)[1]))
    pairs, right, wrong = 0, 0, []
    for (process, name), rows in sorted(values.items()):
        for i, one in enumerate(rows):
            for other in rows[:i]:
                low, high = sorted((one, other))
                if high[0] > 1.2 * low[0]:
                    pairs += 1
                    right += high[1] > low[1]
                    if high[1] <= low[1]:
                        wrong.append(f"{process} {name}: {low[2]} and {high[2]}")
    return pairs, right, wrong


def report(tables, ratios, orders):
    """Print all tables, the medians, and how many pairs of runs are in order."""
    for name, lines in tables.items():
        print(f"{name}\n")
        print("".join(lines))
    for part, values in ratios.items():
        if values:
            print(f"{part}: {len(values)} values, median error {median_error(values):.0f} %, "
                  f"within 15 %: {sum(abs(math.log(v)) < math.log(1.15) for v in values)}")
    for name, (pairs, right, wrong) in orders.items():
        if pairs:
            print(f"order in {name}: {right} of {pairs} pairs that differ by more than 20 %")
            print("".join(f"    not {each}\n" for each in wrong), end="")


def main():
    """Simulate, compare, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", metavar="FOLDER", nargs="+", help="what keep.py wrote")
    parser.add_argument("--measured", help="a folder that measure.py wrote; servers need it")
    parser.add_argument("--gvmsim", default="gvmsim", help="the program gvmsim")
    parser.add_argument("--gpu", default="h200-141g", help="the GPU profile")
    parser.add_argument("--own", action="store_true",
                        help="the host's time for a launch is that of the run itself")
    parser.add_argument("--deviations", metavar="FILE", help="rewrite its tables")
    parser.add_argument("--ahead", metavar="PLAN",
                        help="predict its runs from the profiles in FOLDER")
    options = parser.parse_args()
    tables, ratios, orders = {}, {"alone": [], "together": []}, {}
    if options.ahead and (len(options.folders) > 1 or options.own or options.deviations):
        parser.error("--ahead has one FOLDER, and goes with neither --own nor --deviations")
    try:
        if options.ahead:
            Ahead(options.folders[0], plans.load(options.ahead)[0]).write(options, sys.stdout)
            return
        folders = [Kept(os.path.normpath(folder), options.gpu) for folder in options.folders]
        for kept in folders:
            kept.fault_speed = fault_speed(options, folders, kept)
            results = {run: errors(kept, run, simulate(options, folders, kept, run))
                       for run in kept.manifest["runs"]}
            name = os.path.basename(kept.folder) + (" own" if options.own else "")
            tables[name] = table(kept, results)
            orders[name] = in_order(kept, results)
            for run, processes in results.items():
                part = "alone" if len(processes) == 1 else "together"
                ratios[part] += [v for found in processes.values() for v in found.values()]
        report(tables, ratios, orders)
        if options.deviations:
            rewrite(options.deviations, tables)
    except plans.PlanError as error:
        sys.exit(f"predict.py: {options.ahead}: {error}")
    except (OSError, KeyError, ValueError, StopIteration) as error:
        sys.exit(f"predict.py: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
