#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""Runs PyTorch applications on a real GPU, alone and together, by a plan.

    corun.py --check OUT            does everything work here? under a minute, small shapes
    corun.py PLAN.json OUT          plan.py tells what a plan says; plans/ has some
    corun.py --dry-run PLAN.json    say what the plan would do

A plan whose runs have policies needs --shim libgvm_shim.so and --gvmd gvmd (docs/shim.md).

OUT gets manifest.json (GPU, driver, versions, plan, what each run did), clocks.csv, errors
of the applications, profiles of programs, and a folder for each run: arrivals, requests,
images, steps. summarize.py makes a table of it, collect.py a results folder to put a simulation
beside. docs/corun.md tells how to compare.

Exit code: 0 all runs done; 1 a run failed or was left out, or PyTorch is missing; 2 a mistake
in the plan.
"""

import argparse
import datetime
import hashlib
import json
import os
import platform
import re
import select
import signal
import subprocess
import sys
import time

import arrivals
import gpu
import plan as plans
from worker import MARK

HERE = os.path.dirname(os.path.abspath(__file__))
START_LIMIT_S = 240  # load, compile kernels, warm up
GRACE_S = 30  # of a run, beyond its length
PROFILE_LIMIT_S = 120  # for the profile of a program
LEAD_S = 0.5  # from the command to a run's start


class Failed(Exception):
    """An application died, failed or took too long."""


class Unfit(Exception):
    """The Python that is to run the applications lacks what they import."""


class Application:
    """A process of a group."""

    def __init__(self, name, process, environment, python, out, group):
        self.name, self.process, self.rest = name, process, b""
        self.errors = open(os.path.join(out, f"errors.{group}.{name}.txt"), "ab")
        options = [text for key, value in process.get("args", {}).items()
                   for text in ([f"--{key}"] if value is True else [f"--{key}", str(value)])]
        self.child = subprocess.Popen(
            [python, os.path.join(HERE, plans.APPS[process["app"]])] + options, cwd=HERE,
            env=dict(os.environ, PYTHONUNBUFFERED="1", **environment),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)

    def tell(self, **command):
        """Write a command."""
        try:
            self.child.stdin.write((json.dumps(command) + "\n").encode())
            self.child.stdin.flush()
        except OSError:
            raise Failed(f"{self.name} has died, see {self.errors.name}") from None

    def answer(self, limit_s):
        """The next answer, waited for."""
        end = time.monotonic() + limit_s
        while True:
            line, newline, rest = self.rest.partition(b"\n")
            if newline:
                self.rest = rest
                if line.startswith(MARK.encode()):
                    return json.loads(line[len(MARK):])
                continue
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.child.stdout], [], [], left)[0]:
                raise Failed(f"{self.name} has not answered for {limit_s:.0f} s")
            more = os.read(self.child.stdout.fileno(), 65536)
            if not more:
                raise Failed(f"{self.name} has died, see {self.errors.name}")
            self.rest += more

    def stop(self):
        """End the process."""
        try:
            self.tell(quit=True)
            self.child.wait(15)
        except (Failed, subprocess.TimeoutExpired):
            self.child.kill()
            self.child.wait()
        self.errors.close()


class Policy:
    """gvmd with a policy, over the control files of the shim."""

    def __init__(self, gvmd, root, policy, folder, applications):
        self.said = os.path.join(folder, "gvmd.txt")
        path = os.path.join(folder, "policy.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(policy, file)
        containers = [text for name, application in applications.items()
                      for text in ("--container", f"{name}={application.child.pid}")]
        with open(self.said, "wb") as out:
            self.child = subprocess.Popen([gvmd, "run", path, "--root", root] + containers,
                                          stdout=out, stderr=subprocess.STDOUT)

    def stop(self):
        """End it. Control files get back what they had before. Returns how many it wrote."""
        ended = self.child.poll() is not None
        self.child.send_signal(signal.SIGINT)
        try:
            self.child.wait(15)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        with open(self.said, encoding="utf-8") as file:
            lines = file.read().splitlines()
        if ended or self.child.returncode:
            raise Failed(f"gvmd has ended with {self.child.returncode}: {lines[-1:]}")
        return sum(bool(re.match(r" *[0-9.]+ s  \S+: ", line)) and "as before" not in line
                   for line in lines)


class Session:
    """A plan while it runs."""

    def __init__(self, plan, traces, out, seconds, python, shim=None, gvmd=None):
        self.plan, self.traces, self.out, self.python = plan, traces, out, python
        self.shim, self.gvmd = shim, gvmd
        self.begin = time.monotonic()
        self.deadline = self.begin + seconds
        self.log = open(os.path.join(out, "corun.log"), "a", encoding="utf-8")
        self.clocks = gpu.Clocks(os.path.join(out, "clocks.csv"))
        self.library = None
        self.complete = True
        self.manifest = dict(
            kit=kit_version(), date=datetime.datetime.now(datetime.timezone.utc).isoformat(
                timespec="seconds"),
            gpus=gpu.facts(), host=host_facts(), software=software_facts(python),
            plan=plan, processes={}, runs={}, profiles={})

    def say(self, text):
        """Tell and log."""
        line = f"{time.monotonic() - self.begin:8.1f} {text}"
        print(line, flush=True)
        self.log.write(line + "\n")
        self.log.flush()

    def fail(self, text):
        """Note a failure; other groups go on."""
        self.complete = False
        self.say(text)

    def save(self):
        """Write the manifest; also after each run, so that a kill loses one run at most."""
        path = os.path.join(self.out, "manifest.json")
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(dict(self.manifest, complete=self.complete), file, indent=1)
            file.write("\n")
        os.replace(path + ".new", path)

    def left_s(self):
        """Until the deadline."""
        return max(0.0, self.deadline - time.monotonic())

    def environment(self, group, process, mps):
        """What a process finds in its environment, beside its own."""
        environment = dict(mps.environment) if mps else {}
        if "mps_percent" in process:
            environment["CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"] = f"{process['mps_percent']:g}"
        if plans.timeslices(group):
            self.library = self.library or gpu.build_timeslice_library(self.out)
            environment["LD_PRELOAD"] = self.library
            environment["CORUN_TIMESLICE_US"] = str(
                process.get("timeslice_us", plans.DEFAULT_TIMESLICE_US))
        if plans.policies(group):  # its memory stays what PyTorch asks for
            environment.update(LD_PRELOAD=os.path.abspath(self.shim), GVM_SHIM_MANAGED="0",
                               GVM_SHIM_DIR=self.control_files())
        environment.update(process.get("env", {}))
        return environment

    def control_files(self):
        """The folder of the shim's."""
        return os.path.abspath(os.path.join(self.out, "shim"))

    def write_arrivals(self, name, seconds, path):
        """Cut the arrivals of a run."""
        settings = self.plan["arrivals"][name]
        rows = arrivals.cut(arrivals.read_trace(self.traces[name]), settings.get("from_s", 0),
                            settings.get("divide", 1), seconds)
        arrivals.write(path, rows)

    def run(self, group, run, applications):
        """Do a run of a group."""
        name = f"{group['name']}.{run['name']}"
        folder = os.path.join(self.out, name)
        os.makedirs(folder, exist_ok=True)
        drain_s = run.get("drain_s", plans.DEFAULT_DRAIN_S)
        commands = {}
        for process, settings in run["processes"].items():
            command = dict(seconds=run["seconds"], drain_s=drain_s,
                           prefix=os.path.abspath(os.path.join(folder, process)))
            if "arrivals" in settings:
                command["arrivals"] = command["prefix"] + ".arrivals.csv"
                self.write_arrivals(settings["arrivals"], run["seconds"], command["arrivals"])
            if plans.timeslices(group):
                command["timeslice_us"] = settings.get(
                    "timeslice_us", group["processes"][process].get(
                        "timeslice_us", plans.DEFAULT_TIMESLICE_US))
            commands[process] = command
        start_ns = time.monotonic_ns() + int(LEAD_S * 1e9)
        for process, command in commands.items():
            applications[process].tell(run=dict(command, start_ns=start_ns))
        record = dict(start_ns=start_ns, seconds=run["seconds"], drain_s=drain_s, mps=bool(
            group.get("mps")), processes={})
        policy = None
        if "policy" in run:
            policy = Policy(self.gvmd, self.control_files(), run["policy"], folder,
                            {name: applications[name] for name in commands})
        try:
            self.take_answers(group, run, commands, applications, record)
        finally:
            if policy:
                record["policy_writes"] = policy.stop()
        record["sm_mhz"] = self.clocks.between(
            start_ns, start_ns + int(plans.length_s(run) * 1e9))
        self.manifest["runs"][name] = record
        self.say(f"run {name}: {json.dumps(record['processes'])}")

    def take_answers(self, group, run, commands, applications, record):
        """Wait for all processes of a run, and note what they say."""
        for process, command in commands.items():
            answer = applications[process].answer(LEAD_S + plans.length_s(run) + GRACE_S)
            if "failed" in answer:
                raise Failed(f"{process}: {answer['failed']}")
            record["processes"][process] = dict(
                app=group["processes"][process]["app"], **answer["done"],
                **{key: command[key] for key in ("timeslice_us",) if key in command},
                **{key: value for key, value in group["processes"][process].items()
                   if key == "mps_percent"})

    def profile(self, process, application):
        """Let a program that is alone record its profile. It comes after the runs, which the
        profiler would slow down."""
        program = plans.program_of(process)
        path = os.path.join("profiles", f"{program}.json.gz")
        os.makedirs(os.path.join(self.out, "profiles"), exist_ok=True)
        application.tell(profile=os.path.abspath(os.path.join(self.out, path)))
        answer = application.answer(PROFILE_LIMIT_S)
        if "failed" in answer:
            raise Failed(f"profile of {program}: {answer['failed']}")
        self.manifest["profiles"][program] = path
        self.say(f"profile {path}: {json.dumps(answer['done'])}")

    def group(self, group):
        """Start the processes of a group, do its runs, end the processes."""
        shortest = min(map(plans.length_s, group["runs"]), default=0)
        if self.left_s() < shortest:
            self.fail(f"group {group['name']} is left out: no time")
            return
        self.say(f"group {group['name']}")
        mps, applications = None, {}
        try:
            mps = gpu.Mps() if group.get("mps") else None
            for name, process in group["processes"].items():
                applications[name] = Application(
                    name, process, self.environment(group, process, mps), self.python,
                    self.out, group["name"])
            for name, application in applications.items():
                ready = application.answer(min(START_LIMIT_S, self.left_s()))
                self.manifest["processes"][f"{group['name']}.{name}"] = ready
                self.say(f"process {name}: {json.dumps(ready)}")
            for run in group["runs"]:
                if self.left_s() < LEAD_S + plans.length_s(run) + 1:
                    self.fail(f"run {group['name']}.{run['name']} is left out: no time")
                    continue
                self.run(group, run, applications)
                self.save()
            for name, process in group["processes"].items():
                if process.get("profile"):
                    self.profile(process, applications[name])
        except (Failed, OSError, ValueError, subprocess.SubprocessError) as error:
            self.fail(f"group {group['name']} has failed: {error}")
        finally:
            for application in applications.values():
                application.stop()
            if mps:
                mps.stop()

    def all(self):
        """Do the plan. Returns whether it is complete."""
        try:
            for group in self.plan["groups"]:
                self.group(group)
        except SystemExit:
            self.complete = False
            raise
        finally:
            self.clocks.stop()
            self.save()
            self.say(f"end: {len(self.manifest['runs'])} runs, "
                     f"{'complete' if self.complete else 'INCOMPLETE'}")
            self.log.close()
        return self.complete


def kit_version():
    """The kit's commit, if it is in a repository, and a digest of its files."""
    try:
        commit = subprocess.run(["git", "-C", HERE, "describe", "--always", "--dirty"],
                                text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        commit = None
    digest = hashlib.sha256()
    for name in sorted(os.listdir(HERE)):
        if name.endswith((".py", ".c")):
            with open(os.path.join(HERE, name), "rb") as file:
                digest.update(name.encode() + b"\0" + file.read())
    return dict(commit=commit, sha256=digest.hexdigest()[:16])


def host_facts():
    """Of the host: processor, cores, kernel."""
    model = platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            model = next((line.split(":", 1)[1].strip() for line in file
                          if line.startswith("model name")), model)
    except OSError:
        pass
    return dict(processor=model, cores=os.cpu_count(), kernel=platform.release(),
                python=platform.python_version())


def software_facts(python):
    """Versions of PyTorch and its libraries, asked in a process of its own."""
    program = ("import importlib.metadata, json, torch\n"
               "facts = dict(torch=torch.__version__, cuda=torch.version.cuda,\n"
               "             cudnn=torch.backends.cudnn.version())\n"
               "try:\n"
               "    import triton\n"
               "    facts['triton'] = triton.__version__\n"
               "except ImportError:\n"
               "    pass\n"
               "for name in ('torchvision', 'transformers'):\n"
               "    try:\n"
               "        facts[name] = importlib.metadata.version(name)\n"
               "    except importlib.metadata.PackageNotFoundError:\n"
               "        pass\n"
               "print(json.dumps(facts))\n")
    result = subprocess.run([python, "-c", program], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=False)
    return json.loads(result.stdout) if result.returncode == 0 else None


def require_modules(python):
    """All applications import these. Without them each would die, one after the other."""
    program = ("from importlib.util import find_spec\n"
               "print(' and '.join(f'no {name}' for name in ('numpy', 'torch')"
               " if not find_spec(name)))\n")
    result = subprocess.run([python, "-c", program], text=True, stdout=subprocess.PIPE,
                            check=False)
    missing = result.stdout.strip()
    if result.returncode:
        raise Unfit(f"{python} does not run")
    if missing:
        raise Unfit(f"{python} has {missing}, which the applications need; "
                    "--python names another")


def do_plan(path, out, seconds, python, shim=None, gvmd=None):
    """Do the plan in a file. Returns whether it is complete."""
    plan, traces = plans.load(path)
    if any(map(plans.policies, plan["groups"])):
        for option, file in (("--shim", shim), ("--gvmd", gvmd)):
            if not file or not os.path.isfile(file):
                raise plans.PlanError(f"has a policy, which needs {option} FILE")
    require_modules(python)
    os.makedirs(out, exist_ok=True)
    if os.path.exists(os.path.join(out, "manifest.json")):
        raise plans.PlanError(f"{out}: has results already")
    return Session(plan, traces, out, seconds, python, shim, gvmd).all()


def check(out, seconds, device, python):
    """Check the kernels, then do the plan of the check."""
    begin = time.monotonic()
    require_modules(python)
    os.makedirs(out, exist_ok=True)
    result = subprocess.run([python, os.path.join(HERE, "check.py"), "--device", device],
                            check=False, timeout=seconds)
    name = "check.json" if device != "cpu" else "check-cpu.json"
    complete = do_plan(os.path.join(HERE, "plans", name), out,
                       seconds - (time.monotonic() - begin), python)
    good = complete and result.returncode == 0
    print(f"check: {'good' if good else 'FAILED'}, {time.monotonic() - begin:.0f} s")
    return good


def main():
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("plan", nargs="?", help="a plan in JSON; not with --check")
    parser.add_argument("out", nargs="?", help="folder of the results, new")
    parser.add_argument("--seconds", type=float, default=3600,
                        help="begin no run that would not end within so long")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done")
    parser.add_argument("--check", action="store_true", help="does the kit work here?")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"),
                        help="of --check")
    parser.add_argument("--python", default=sys.executable, help="runs the applications")
    parser.add_argument("--shim", help="libgvm_shim.so, for runs with a policy")
    parser.add_argument("--gvmd", help="the program gvmd, likewise")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        if arguments.check:
            if not arguments.plan or arguments.out:
                parser.error("--check has one operand, OUT")
            done = check(arguments.plan, arguments.seconds, arguments.device, arguments.python)
        elif arguments.dry_run:
            if not arguments.plan:
                parser.error("PLAN is missing")
            print("\n".join(plans.describe(plans.load(arguments.plan)[0])))
            done = True
        else:
            if not arguments.out:
                parser.error("PLAN and OUT are required")
            done = do_plan(arguments.plan, arguments.out, arguments.seconds, arguments.python,
                           arguments.shim, arguments.gvmd)
    except Unfit as error:
        print(f"corun.py: {error}", file=sys.stderr)
        sys.exit(1)
    except (plans.PlanError, OSError, subprocess.TimeoutExpired) as error:
        print(f"corun.py: {arguments.plan}: {error}", file=sys.stderr)
        sys.exit(2)
    sys.exit(0 if done else 1)


if __name__ == "__main__":
    main()
