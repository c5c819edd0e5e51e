# SPDX-License-Identifier: MIT OR GPL-2.0
"""Kinds of applications: what a simulation needs of each, and what it says of each.

A kind knows the simulator's application, with the constants of a scene, and the metrics that a
measured and a simulated run have in common. A scene is a run, and where constants of its
applications come from: measure.py, a run alone, profiles of programs.
Only the standard library is used.
"""

import csv
import functools
import json
import os
import subprocess
import tempfile

import logs
import summarize

START_S = 20  # of the simulated applications; an LLM server boots 5 s before
WARM_IMAGES = 2  # that diffusion.py makes before it is ready
KV_TOKENS = 300000  # default of llm_server.py
SCENARIOS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scenarios")


def bare(keys):
    """Keys of a profile without their sources."""
    return {key: value["value"] if isinstance(value, dict) and "value" in value else value
            for key, value in keys.items()}


def constants(kind, name):
    """The constants of a profile of the simulator, by key: kind "app" or "gpu"."""
    with open(os.path.join(SCENARIOS, kind + "s", name + ".json"), encoding="utf-8") as file:
        return bare(json.load(file)[kind])


def host_speed(gpu):
    """Of the GPU profile's host. Host times of a scenario are those of a host of speed 1."""
    with open(os.path.join(SCENARIOS, "gpus", gpu + ".json"), encoding="utf-8") as file:
        return float(json.load(file)["host"]["speed"]["value"])


@functools.cache
def imported_text(gvmsim, path, gpu, alone):
    """What import_profile() reads. Many runs have the same programs."""
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, "app.json")
        done = subprocess.run([gvmsim, "app", "import", path, made, "--gpu", gpu]
                              + (["--alone", alone] if alone else []),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            raise ValueError(f"{path}: {said[-1]}")
        with open(made, encoding="utf-8") as file:
            return file.read()


def import_profile(gvmsim, path, gpu, alone=None):
    """The application that gvmsim makes of the profile of a program, for a scenario. alone is a
    file with the steps of the program alone; None: those of the profile count."""
    return bare(json.loads(imported_text(gvmsim, path, gpu, alone))["app"])


def measured_rows(folder, part, key):
    """A file of measure.py, by its first or second column."""
    with open(os.path.join(folder, part + ".csv"), newline="", encoding="utf-8") as file:
        return {row[key]: row for row in csv.DictReader(file)}


class Scene:
    """A run of a group, and the constants of its applications.

    measured is a folder of measure.py, or None: then they are those of the simulator's
    profiles. alone is a run of the server alone, whose steps tell the host's time for a launch.
    profiles are paths by program.
    """

    def __init__(self, run, group, gpu, gvmsim, measured=None, alone=None, profiles=None):
        self.run, self.group, self.gpu, self.gvmsim = run, group, gpu, gvmsim
        self.measured, self.alone, self.profiles = measured, alone, profiles or {}

    def is_managed(self, process):
        """Was its memory managed? The shim makes it so, or the program itself does."""
        return "offload" in self.arguments(process) or any(
            name.startswith("GVM_")
            for name in self.group["processes"][process].get("env", {}))

    def arguments(self, process):
        """Of the process's command line."""
        return self.group["processes"][process].get("args", {})

    def decode_launch_us(self, process):
        """The host's part of a decoding step, a median: in the run alone if there is one, or
        over the steps of measure.py."""
        if self.alone:
            (name,) = [name for name in os.listdir(self.alone) if name.endswith(".steps.csv")]
            launches = [step["launch_us"] for step in
                        logs.read_rows(os.path.join(self.alone, name))
                        if not step["prefill_tokens"]]
        else:
            launches = [row["launch_us"] for row in logs.read_rows(os.path.join(
                self.measured, "steps.csv")) if row["model"] == "3b" and not row["chunks"]]
        return sorted(launches)[len(launches) // 2]

    def alone_steps(self, program):
        """A file with the steps of a program that was alone. None: there is none."""
        return None

    def program(self, process):
        """The imported application of a process that runs a program."""
        name = self.arguments(process)["program"]
        if name not in self.profiles:
            raise ValueError(f"there is no profile of {name}")
        return import_profile(self.gvmsim, self.profiles[name], self.gpu,
                              self.alone_steps(name))


class Server:
    """An LLM server."""

    profile = "corun-llama-3.2-3b"
    log = ("--requests", ".requests.json")  # option of "gvmcollect logs", end of the file
    in_first_row = False  # of a table of predict.py
    # Name, column of summary.csv, key in the container of summary.json
    metrics = (("TTFT p50", "ttft_ms_p50", ("ttft_ms", "p50")),
               ("TTFT P99", "ttft_ms_p99", ("ttft_ms", "p99")),
               ("ITL p50", "itl_ms_p50", ("itl_ms", "p50")),
               ("ITL P99", "itl_ms_p99", ("itl_ms", "p99")))

    def memory_share(self, gpu, kv_tokens):
        """The share of the GPU's memory that it takes: weights, workspace, its cache."""
        app = constants("app", self.profile)
        taken = app["weights"] + app["workspace"] + kv_tokens * app["kv_bytes_per_token"]
        return round(taken / int(constants("gpu", gpu)["memory_total"]), 6)

    def measured(self, scene, process):
        """What measure.py says of it, as far as a scenario has keys for it."""
        kernels = measured_rows(scene.measured, "kernels", "part")
        launches = int(kernels["32 decodes"]["launches"])
        launch_ns = round(scene.decode_launch_us(process) * 1000 * host_speed(scene.gpu)
                          / launches)
        return dict(kernels_per_step=launches, kernel_launch=f"{launch_ns}ns")

    def app(self, scene, process):
        """The simulator's application."""
        tokens = scene.arguments(process).get("kv-tokens", KV_TOKENS)
        return dict(type="llm-server", profile=self.profile,
                    trace=dict(file=f"{process}.arrivals.csv"),
                    client=dict(stop=f"{scene.run['seconds']}s"),
                    gpu_memory_utilization=self.memory_share(scene.gpu, tokens),
                    **(self.measured(scene, process) if scene.measured else {}))

    def predicted(self, summary, records, run):
        """Values of the metrics in a simulated run, by column of summary.csv."""
        return {column: (summary.get(key) or {}).get(part)
                for _, column, (key, part) in self.metrics}


class Pipeline:
    """
    A diffusion pipeline. It has made images before the run, as diffusion.py does. They are left
    out where no memory is managed: then a first image takes as long as any other.
    """

    profile = "corun-sd3.5-medium"
    log = ("--images", ".images.csv")
    in_first_row = True
    metrics = (("image", "image_latency_s_p50", ("latency_s", "p50")),)
    predicted = Server.predicted

    def measured(self, scene):
        """As Server.measured(). The encoders' launches are slower than their kernels. The
        denoiser's wait for the queue."""
        kernels = measured_rows(scene.measured, "kernels", "part")
        phases = measured_rows(scene.measured, "image", "phase")
        speed = host_speed(scene.gpu)
        launches = int(kernels["encoders"]["launches"])
        launch_ns = round(int(phases["encoders"]["launch_us"]) * 1000 * speed / launches)
        return dict(kernels_per_pass=int(kernels["step"]["launches"]),
                    kernels_text=launches // 2,
                    kernels_decoder=int(kernels["decoder"]["launches"]),
                    kernel_launch=f"{launch_ns}ns",
                    host_per_image=f"{round(int(phases['fetch']['eager_us']) * speed)}us")

    def app(self, scene, process):
        """The simulator's application."""
        more = {}
        if scene.is_managed(process):
            more = dict(boot=f"{START_S}s", warm_images=WARM_IMAGES)
        if "offload" in scene.arguments(process):
            more.update(offload=scene.arguments(process)["offload"])
        return dict(type="diffusion", profile=self.profile, load_bandwidth="1e15", warmup="0s",
                    **more, **(self.measured(scene) if scene.measured else {}))


class Program:
    """A program whose profile was recorded. A step is an iteration of phases."""

    log = None
    in_first_row = False
    metrics = (("step p50", "step_ms_p50"), ("step P99", "step_ms_p99"),
               ("steps a second", "steps_per_s"))

    def app(self, scene, process):
        """The simulator's application. It begins with the run."""
        return dict(scene.program(process), type="phases", boot="0s")

    def predicted(self, summary, records, run):
        """From the records, of steps that ended within the run's seconds, as measured ones."""
        start_us = START_S * 1000000
        row = summarize.of_steps([(int(record["arrival_ns"]) // 1000 - start_us,
                                   int(record["finish_ns"]) // 1000 - start_us)
                                  for record in records if record["outcome"] == "completed"],
                                 run["seconds"])
        return {metric[1]: float(row[metric[1]]) for metric in self.metrics
                if metric[1] in row}


KINDS = {"llm": Server(), "diffusion": Pipeline(), "program": Program()}
