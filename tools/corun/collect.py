#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""A results folder of a run, and the scenario that describes the run.

    collect.py OUT/RUN FOLDER --collector build/release/gvmcollect --gpu h100-80g

FOLDER becomes what "gvmcollect sample" and "gvmcollect logs" write on a stock driver, at the
date of the run. FOLDER/scenario.json is for "gvmsim run": the same arrivals, applications of
the same names. Compare with "gvmsim validate results FOLDER SIMULATED".

With --measured, a folder of measure.py, the scenario has the number of launches, the host's
time for each and its work an image, as measured of the applications alone. The host's time
differs between sessions: --alone names a run of this session in which the server was alone,
and whose steps tell it. A program is what --gvmsim imports of the profile that OUT has of it;
its steps are left out of FOLDER's results, as gvmcollect reads no logs of programs.
Only the standard library is used.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys

from kinds import KINDS, START_S, Scene

TIMESLICE_US = 2048  # by default


def rewrite(path, change):
    """Change a JSON file."""
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    change(content)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2)
        file.write("\n")


def sample(collector, folder, processes):
    """An empty collection. This process stands for each container."""
    containers = [part for name in processes
                  for part in ("--container", f"{name}={os.getpid()}")]
    subprocess.run([collector, "sample", "--root", os.devnull, "--interval", "1ms",
                    "--duration", "1ms", "--system", "stock", "--quiet", "--out", folder]
                   + containers, check=True, stderr=subprocess.DEVNULL)


def move(folder, manifest, run):
    """Give a collection the dates and the host of the run."""
    def config(content):
        content["clock"].update(start_ns=run["start_ns"], start_date=manifest["date"])
        content["host"] = dict(manifest["host"], driver=driver, gpus=manifest["gpus"])
        content["notes"] = ["made by tools/corun/collect.py; no control file was sampled"]
        for container in content["containers"].values():
            container.update(tgid=0, command="tools/corun", first_sample_ns=None)

    def summary(content):
        content["sim_seconds"] = content["wall_seconds"] = run["seconds"]

    driver = manifest["gpus"][0]["driver"] if manifest["gpus"] else None
    rewrite(os.path.join(folder, "config.json"), config)
    rewrite(os.path.join(folder, "summary.json"), summary)
    # Its rows are of the moment when this program ran.
    path = os.path.join(folder, "timeline.csv")
    with open(path, encoding="utf-8") as file:
        header = file.readline()
    with open(path, "w", encoding="utf-8") as file:
        file.write(header)


def count_kernels(counts, date_ns, row):
    """Keep the date and the numbers of kernels submitted and ended of a row of gcgroup.stat."""
    found = re.search(r"nr_submitted_kernels: (\d+) nr_ended_kernels: (\d+)", row)
    if found:
        counts.append((int(date_ns), int(found[1]), int(found[2])))


def kernels_of(counts):
    """What gvmcollect says of these samples (sim/apps/launches.h), of the run alone."""
    first = counts[0]
    seen = {"submitted": counts[-1][1] - first[1], "ended": counts[-1][2] - first[2]}
    steps = [(before, after) for before, after in zip(counts, counts[1:])
             if after[1] > before[1]]
    if steps:
        seconds = (steps[-1][1][0] - steps[0][0][0]) / 1e9
        seen["per_s"] = sum(after[1] - before[1] for before, after in steps) / seconds
    return seen


def add_samples(folder, sampled, run):
    """Memory and kernels of the run, from a folder that "gvmcollect sample" wrote meanwhile."""
    with open(os.path.join(sampled, "config.json"), encoding="utf-8") as file:
        taken = json.load(file)
    first_ns = run["start_ns"] - taken["clock"]["start_ns"]
    last_ns = first_ns + int(run["seconds"] * 1e9)
    memory, kernels = {}, {}
    for name in ("timeline.csv", "controls.csv"):
        before, rows = {}, []
        with open(os.path.join(sampled, name), encoding="utf-8") as file:
            header = file.readline()
            for line in file:
                date_ns, rest = line.split(",", 1)
                if int(date_ns) > last_ns:
                    continue
                if int(date_ns) < first_ns:  # a setting of then holds at the start of the run
                    before[tuple(rest.split(",")[:2])] = f"0,{rest}"
                    continue
                rows.append(f"{int(date_ns) - first_ns},{rest}")
                if ",gcgroup.stat," in rest:
                    container = rest.split(",")[0]
                    count_kernels(kernels.setdefault(container, []), date_ns, rest)
                if name[0] == "t":
                    container, used = rest.split(",")[:2]
                    memory.setdefault(container, []).append(int(used))
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            settings = before.values() if name[0] == "c" else ()
            file.write(header + "".join(settings) + "".join(rows))

    def config(content):
        content["roots"] = taken["roots"]
        content["notes"] = ["made by tools/corun/collect.py"] + taken["notes"]
        for name, container in content["containers"].items():
            container.update({key: taken["containers"][name][key]
                              for key in ("tgid", "command")})

    def summary(content):
        for name, used in memory.items():
            content["containers"][name]["gmem"].update(
                current=used[-1], mean=sum(used) // len(used), peak=max(used))
        for name, counts in kernels.items():
            content["containers"][name]["kernels"] = kernels_of(counts)

    rewrite(os.path.join(folder, "config.json"), config)
    rewrite(os.path.join(folder, "summary.json"), summary)


def add_logs(collector, folder, source, run):
    """The logs of the applications."""
    options = []
    for name, facts in run["processes"].items():
        log = KINDS[facts["app"]].log
        if log:
            options += [log[0], f"{name}={os.path.join(source, name + log[1])}"]
    if options:
        subprocess.run([collector, "logs", folder] + options, check=True)


def timeslice_us(process, facts):
    """Of a process: set by itself, by the shim (docs/shim.md), or the driver's."""
    given = process.get("env", {}).get("GVM_TIMESLICE")
    if given and not re.fullmatch(r"\d+us", given):
        raise ValueError(f"GVM_TIMESLICE={given} is not in us")
    return int(given[:-2]) if given else facts.get("timeslice_us", TIMESLICE_US)


def group_of(name, plan):
    """The plan's group of a run."""
    return next(group for group in plan["groups"] if group["name"] == name.split(".")[0])


def policy_of(name, scene):
    """The policy of a run, as a file of gvmd's has it. None: it had none."""
    planned = next(run for run in scene.group["runs"] if run["name"] == name.split(".", 1)[1])
    return planned.get("policy")


def scenario(name, scene, folder):
    """What gvmsim has to run. A policy goes into a file in the folder. Its system is gvm, which
    has the control files; without them it shares a GPU as a stock driver does."""
    run, containers, policy = scene.run, {}, policy_of(name, scene)
    for process, facts in run["processes"].items():
        app = KINDS[facts["app"]].app(scene, process)
        planned = scene.group["processes"][process]
        if not scene.is_managed(process):
            app.update(memory="unmanaged")  # PyTorch allocates by cudaMalloc()
        containers[process] = dict(start=f"{START_S}s", app=app)
        slice_us = timeslice_us(planned, facts)
        if slice_us != TIMESLICE_US:
            containers[process]["compute.timeslice"] = f"{slice_us}us"
        if run["mps"]:
            containers[process]["mps"] = dict(server="mps",
                                              limit=round(facts.get("mps_percent", 100)))
    more = {}
    if policy:
        with open(os.path.join(folder, "policy.json"), "w", encoding="utf-8") as file:
            json.dump(policy, file)
        more = dict(policy=dict(file="./policy.json"))
    return dict(name=name.replace(".", "-"), description="Written by tools/corun/collect.py.",
                duration=f"{START_S + run['seconds'] + run['drain_s']}s",
                gpu=dict(profile=scene.gpu),
                system=dict(name="gvm" if policy else "stock"), containers=containers, **more)


def profiles_of(folder, manifest):
    """Paths of the profiles of programs in a folder of corun.py or keep.py."""
    return {program: os.path.join(folder, path)
            for program, path in manifest.get("profiles", {}).items()}


def main():
    """Sample, move, add, describe."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", metavar="OUT/RUN")
    parser.add_argument("folder", metavar="FOLDER")
    parser.add_argument("--collector", default="gvmcollect", help="the program gvmcollect")
    parser.add_argument("--gvmsim", default="gvmsim", help="the program gvmsim, for programs")
    parser.add_argument("--gpu", required=True, help="the GPU profile of the scenario")
    parser.add_argument("--sampled",
                        help="a folder that gvmcollect sample wrote during the run")
    parser.add_argument("--measured", help="a folder that measure.py wrote")
    parser.add_argument("--alone", metavar="OUT/RUN",
                        help="a run of the server alone, with --measured")
    arguments = parser.parse_args()
    source = os.path.normpath(arguments.run)
    name, manifest_file = os.path.basename(source), os.path.join(source, "..", "manifest.json")
    try:
        with open(manifest_file, encoding="utf-8") as file:
            manifest = json.load(file)
        run = manifest["runs"][name]
        scene = Scene(run, group_of(name, manifest["plan"]), arguments.gpu, arguments.gvmsim,
                      arguments.measured, arguments.alone,
                      profiles_of(os.path.join(source, ".."), manifest))
        sample(arguments.collector, arguments.folder, run["processes"])
        move(arguments.folder, manifest, run)
        if arguments.sampled:
            add_samples(arguments.folder, arguments.sampled, run)
        add_logs(arguments.collector, arguments.folder, source, run)
        with open(os.path.join(arguments.folder, "scenario.json"), "w",
                  encoding="utf-8") as file:
            json.dump(scenario(name, scene, arguments.folder), file, indent="\t")
            file.write("\n")
        for process in run["processes"]:
            if os.path.exists(os.path.join(source, process + ".arrivals.csv")):
                shutil.copy(os.path.join(source, process + ".arrivals.csv"), arguments.folder)
    except (OSError, KeyError, ValueError, subprocess.CalledProcessError) as error:
        sys.exit(f"collect.py: {arguments.run}: {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
