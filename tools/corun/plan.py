# SPDX-License-Identifier: MIT OR GPL-2.0
"""Plans: which applications run, together or alone, how long, with which arrivals.

A plan is a JSON object:

    name        a word
    note        for people
    arrivals    by name: {"trace": FILE, "from_s": S, "divide": N}; FILE is searched in the
                folder of the plan, then in traces/
    groups      a list; the processes of a group live as long as the group
        name        a word
        mps         true: NVIDIA's MPS shares the GPU; default false, which is time slices
        processes   by name:
            app             "llm", "diffusion" or "program"
            args            by option of llm_server.py, diffusion.py or programs.py:
                            {"kv-tokens": 300000}; a program needs {"program": NAME}
            env             by name of an environment variable
            mps_percent     share of the SMs, with mps only
            timeslice_us    of its channel groups; not with mps
            profile         true: after the runs, record the profile of this program, which is
                            the group's only process; once for each program, not with mps
        runs        a list
            name        a word
            seconds     requests arrive, and images and steps are counted, so long
            drain_s     then running requests may end so long; default 4
            processes   by name: {"arrivals": NAME, "timeslice_us": N}; arrivals of an llm only
            policy      of gvmd, as in a file of its: {"policy": "timeshare", "period": "50ms"}.
                        The containers are the processes, which have the shim; not with
                        timeslice_us

Mistakes are PlanError with the place in the plan. Only the standard library is used.
"""

import json
import os
import re

from programs import PROGRAMS

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT_TIMESLICE_US = 2048  # plots/reference/hardware/README.md
DEFAULT_DRAIN_S = 4
SECONDS_MAX = 3600
APPS = {"llm": "llm_server.py", "diffusion": "diffusion.py", "program": "programs.py"}
NUMBER = (int, float)


class PlanError(Exception):
    """A mistake in a plan: place, what it is, what is allowed."""


def _check(where, value, keys):
    """Is value an object with the required keys ("key!") and no unknown ones?"""
    if not isinstance(value, dict):
        raise PlanError(f"{where}: is no object")
    names = {key.rstrip("!"): kind for key, kind in keys.items()}
    for key in value:
        if key not in names:
            raise PlanError(f"{where}.{key}: is unknown, allowed: {', '.join(names)}")
    for key, kind in keys.items():
        name = key.rstrip("!")
        if name not in value:
            if key != name:
                raise PlanError(f"{where}.{name}: is missing")
        elif not isinstance(value[name], kind) or (
                isinstance(value[name], bool) and kind is not bool):
            raise PlanError(f"{where}.{name}: is of a wrong type")


def _word(where, text):
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", text):
        raise PlanError(f"{where}: \"{text}\", allowed: letters, digits, - and _")


def _range(where, value, low, high):
    if not low <= value <= high:
        raise PlanError(f"{where}: {value}, allowed: {low} to {high}")


def _timeslice(where, settings, mps):
    if "timeslice_us" not in settings:
        return
    if mps:
        raise PlanError(f"{where}.timeslice_us: has no meaning with mps")
    _range(f"{where}.timeslice_us", settings["timeslice_us"], 16, 1000000)


def program_of(process):
    """The program that a process runs; None if it is another application."""
    return process.get("args", {}).get("program") if process["app"] == "program" else None


def _check_program(where, process):
    name = program_of(process)
    if name is None:
        raise PlanError(f"{where}.args.program: is missing")
    if name not in tuple(PROGRAMS):
        raise PlanError(f"{where}.args.program: \"{name}\", allowed: {', '.join(PROGRAMS)}")


def _check_profile(where, group, process, profiled):
    """Is the program alone on the GPU when its profile is recorded?"""
    if not process.get("profile"):
        return
    if process["app"] != "program":
        raise PlanError(f"{where}.profile: needs a program")
    if len(group["processes"]) > 1:
        raise PlanError(f"{where}.profile: needs a group without other processes")
    if group.get("mps"):
        raise PlanError(f"{where}.profile: has no meaning with mps")
    if program_of(process) in profiled:
        raise PlanError(f"{where}.profile: {program_of(process)} has one already")
    profiled.add(program_of(process))


def _check_process(where, process, mps):
    _check(where, process, {"app!": str, "args": dict, "env": dict, "mps_percent": NUMBER,
                            "timeslice_us": int, "profile": bool})
    if process["app"] not in APPS:
        raise PlanError(f"{where}.app: \"{process['app']}\", allowed: {', '.join(APPS)}")
    if process["app"] == "program":
        _check_program(where, process)
    if "mps_percent" in process:
        if not mps:
            raise PlanError(f"{where}.mps_percent: needs \"mps\": true")
        _range(f"{where}.mps_percent", process["mps_percent"], 1, 100)
    _timeslice(where, process, mps)


def _check_policy(where, policy, group):
    """gvmd checks what is in it."""
    if not isinstance(policy.get("policy"), str):
        raise PlanError(f"{where}.policy: is missing")
    if timeslices(group):
        raise PlanError(f"{where}: has no meaning with timeslice_us")


def _check_run(where, run, group, arrivals):
    _check(where, run, {"name!": str, "seconds!": NUMBER, "drain_s": NUMBER,
                        "processes!": dict, "policy": dict})
    if "policy" in run:
        _check_policy(f"{where}.policy", run["policy"], group)
    _word(f"{where}.name", run["name"])
    _range(f"{where}.seconds", run["seconds"], 1, SECONDS_MAX)
    _range(f"{where}.drain_s", run.get("drain_s", 0), 0, SECONDS_MAX)
    if not run["processes"]:
        raise PlanError(f"{where}.processes: is empty")
    for name, settings in run["processes"].items():
        place = f"{where}.processes.{name}"
        if name not in group["processes"]:
            raise PlanError(f"{place}: the group has no such process")
        _check(place, settings, {"arrivals": str, "timeslice_us": int})
        _timeslice(place, settings, group.get("mps"))
        llm = group["processes"][name]["app"] == "llm"
        if llm != ("arrivals" in settings):
            raise PlanError(f"{place}.arrivals: {'is missing' if llm else 'has no meaning'}")
        if llm and settings["arrivals"] not in arrivals:
            raise PlanError(f"{place}.arrivals: \"{settings['arrivals']}\", allowed: "
                            + ", ".join(arrivals))


def check(plan):
    """Raise PlanError at the first mistake."""
    _check("plan", plan, {"name!": str, "note": str, "arrivals": dict, "groups!": list})
    _word("name", plan["name"])
    arrivals = plan.get("arrivals", {})
    for name, settings in arrivals.items():
        where = f"arrivals.{name}"
        _word(where, name)
        _check(where, settings, {"trace!": str, "from_s": NUMBER, "divide": NUMBER})
        _range(f"{where}.divide", settings.get("divide", 1), 1e-6, 1e6)
    seen, profiled = set(), set()
    for i, group in enumerate(plan["groups"]):
        where = f"groups[{i}]"
        _check(where, group, {"name!": str, "mps": bool, "processes!": dict, "runs!": list})
        _word(f"{where}.name", group["name"])
        for name, process in group["processes"].items():
            _word(f"{where}.processes", name)
            _check_process(f"{where}.processes.{name}", process, group.get("mps"))
            _check_profile(f"{where}.processes.{name}", group, process, profiled)
        for j, run in enumerate(group["runs"]):
            _check_run(f"{where}.runs[{j}]", run, group, arrivals)
            if (group["name"], run["name"]) in seen:
                raise PlanError(f"{where}.runs[{j}].name: \"{run['name']}\" is there twice")
            seen.add((group["name"], run["name"]))


def load(path):
    """Read and check a plan. Returns it and the path of the trace of each arrivals."""
    try:
        with open(path, encoding="utf-8") as file:
            plan = json.load(file)
    except json.JSONDecodeError as error:
        raise PlanError(f"line {error.lineno}: {error.msg}") from None
    check(plan)
    folders = (os.path.dirname(os.path.abspath(path)), os.path.join(HERE, "..", "..", "traces"))
    traces = {}
    for name, settings in plan.get("arrivals", {}).items():
        found = [os.path.normpath(os.path.join(folder, settings["trace"]))
                 for folder in folders]
        found = [file for file in found if os.path.exists(file)]
        if not found:
            raise PlanError(f"arrivals.{name}.trace: no file {settings['trace']}")
        traces[name] = found[0]
    return plan, traces


def length_s(run):
    """How long a run takes."""
    return run["seconds"] + run.get("drain_s", DEFAULT_DRAIN_S)


def timeslices(group):
    """Does any process of the group set its timeslice?"""
    return any("timeslice_us" in settings for settings in
               list(group["processes"].values())
               + [s for run in group["runs"] for s in run["processes"].values()])


def policies(group):
    """Is there a run with a policy?"""
    return any("policy" in run for run in group["runs"])


def describe(plan):
    """What a plan does, a line for each part."""
    groups = plan["groups"]
    runs = [run for group in groups for run in group["runs"]]
    yield (f"plan {plan['name']}: groups {len(groups)}, runs {len(runs)}, "
           f"{sum(map(length_s, runs)):g} s and the starts of "
           f"{sum(len(group['processes']) for group in groups)} processes")
    for group in groups:
        yield f"group {group['name']}: {'MPS' if group.get('mps') else 'time slices'}"
        for name, process in group["processes"].items():
            parts = [f"--{key}" if value is True else f"--{key} {value}"
                     for key, value in process.get("args", {}).items()]
            if "mps_percent" in process:
                parts.append(f"{process['mps_percent']:g} % of the SMs")
            if "timeslice_us" in process:
                parts.append(f"timeslice {process['timeslice_us']} us")
            if process.get("profile"):
                parts.append("and its profile")
            yield f"  process {name}: {' '.join([APPS[process['app']]] + parts)}"
        for run in group["runs"]:
            who = []
            for name, settings in run["processes"].items():
                parts = [name]
                if "arrivals" in settings:
                    parts.append(f"{settings['arrivals']} arrivals")
                if "timeslice_us" in settings:
                    parts.append(f"timeslice {settings['timeslice_us']} us")
                who.append(" ".join(parts))
            if "policy" in run:
                who.append(f"policy {run['policy']['policy']}")
            yield (f"  run {group['name']}.{run['name']}: {run['seconds']:g} s and "
                   f"{run.get('drain_s', DEFAULT_DRAIN_S):g} s: {', '.join(who)}")
