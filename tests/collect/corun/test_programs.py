#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""Programs in tools/corun: their profiles become applications of scenarios, and their steps are
compared. Usage: test_programs.py KIT SAMPLE GVMSIM GVMCOLLECT WORK"""

import contextlib
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

KIT, SAMPLE, GVMSIM, COLLECTOR, WORK = sys.argv[1:6]
del sys.argv[1:6]
sys.path.insert(0, KIT)

import collect  # noqa: E402
import kinds  # noqa: E402
import predict  # noqa: E402
import summarize  # noqa: E402

OUT, KEPT = os.path.join(WORK, "out"), os.path.join(WORK, "kept-programs")
BASE_NS = 1790000000000000000
# What gvmsim could make of a profile: a step of 100 ms of the reference host and one kernel.
IMPORTED = {"tensors": {"state": {"bytes": {"value": "1e6", "source": "made up"}}},
            "phases": [{"name": "step", "host": "100ms", "kernels": 1, "traffic": "1e6",
                        "reads": ["state"]}],
            "efficiency": 0.5, "memory_efficiency": 0.5, "kernel_launch": "5us"}


def write_profile(path):
    """Three steps of two kernels, a copy to the host and a wait, as gvm_profile writes them."""
    events = []

    def event(category, name, begin_us, length_us, correlation, **more):
        device = category in ("kernel", "gpu_memcpy")
        events.append(dict(ph="X", cat=category, name=name, pid=0 if device else 1, tid=7, ts=begin_us,
                           dur=length_us, args=dict(correlation=correlation, **more)))

    for step in range(3):
        at, first = 1000.0 * step, 10 * step
        for i in (1, 2):
            event("cuda_runtime", "cudaLaunchKernel", at + 10 * i, 5, first + i)
            event("kernel", "gemm", at + 50 + 300 * i, 280, first + i, device=0, context=1,
                  stream=7, grid=[256, 1, 1], block=[128, 1, 1], **{
                      "registers per thread": 32, "shared memory": 0, "blocks per SM": 1.9,
                      "warps per SM": 7.8, "est. achieved occupancy %": 12})
        event("cuda_runtime", "cudaMemcpyAsync", at + 40, 5, first + 3)
        event("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", at + 940, 2, first + 3, device=0,
              context=1, stream=7, bytes=4)
        event("cuda_runtime", "cudaStreamSynchronize", at + 50, 900, first + 4)
    properties = dict(id=0, name="made up", totalGlobalMem=1 << 37, numSms=132)
    steps = [[BASE_NS + 1000000 * i, BASE_NS + 1000000 * i + 960000] for i in range(3)]
    gvmsim = dict(version=1, steps_ns=steps, plain_step_ns=990000,
                  memory=dict(state=1 << 30, peak=1 << 31, reserved=1 << 31),
                  kernel_bytes=[["gemm", [256, 1, 1], [128, 1, 1], 100000000]])
    with gzip.open(path, "wt", encoding="utf-8") as file:
        json.dump(dict(schemaVersion=1, deviceProperties=[properties], traceEvents=events,
                       baseTimeNanoseconds=BASE_NS, gvmsim=gvmsim), file)


def predicted(*arguments):
    """What predict.py prints of the kept folder."""
    told = io.StringIO()
    with mock.patch.object(sys, "argv", ["predict.py", KEPT, "--gvmsim", GVMSIM, *arguments]), \
            contextlib.redirect_stdout(told):
        predict.main()
    return told.getvalue()


def importing(keys=None):
    """Stands in the place of "gvmsim app import" in this process."""
    return mock.patch.object(kinds, "import_profile", mock.Mock(
        side_effect=lambda gvmsim, path, gpu, alone: kinds.bare(keys or IMPORTED)))


class TestPrograms(unittest.TestCase):
    """A folder that was written by hand, kept and predicted."""

    @classmethod
    def setUpClass(cls):
        shutil.copytree(SAMPLE, OUT)
        os.makedirs(os.path.join(OUT, "profiles"))
        for program in ("decode-graph", "gpt2-train"):
            write_profile(os.path.join(OUT, "profiles", program + ".json.gz"))
        subprocess.run([sys.executable, os.path.join(KIT, "keep.py"), OUT, KEPT], check=True)

    def options(self):
        """Of predict.py."""
        return mock.Mock(gpu="h200-141g", gvmsim=GVMSIM, measured=None, own=False)

    def scenario(self, run):
        """Of a kept run."""
        kept = predict.Kept(KEPT, "h200-141g")
        with importing():
            return collect.scenario(run, predict.Scene(self.options(), [kept], kept, run),
                                    OUT)

    def test_only_steps_that_ended_in_time_count(self):
        row = {r["run"]: r for r in summarize.rows_of(OUT)}["solo.alone"]
        self.assertEqual((row["steps"], row["steps_per_s"]), (4, "4.000"))
        self.assertEqual((row["step_ms_p50"], row["step_ms_p99"]), ("215.000", "229.700"))

    def test_a_run_without_a_step_has_no_times(self):
        self.assertEqual(summarize.of_steps([(0, 1000001)], 1),
                         dict(steps=0, steps_per_s="0.000"))

    def test_steps_and_profiles_are_kept(self):
        with open(os.path.join(KEPT, "solo.alone.decode.rounds.csv"), encoding="utf-8") as file:
            self.assertEqual(file.read().split(), [
                "gap_us,step_us", "100,200000", "2,210000", "1,220000", "7,230000", "0,139891"])
        for name in ("decode-graph", "gpt2-train"):
            path = os.path.join("profiles", name + ".json.gz")
            with open(os.path.join(OUT, path), "rb") as out, \
                    open(os.path.join(KEPT, path), "rb") as kept:
                self.assertEqual(out.read(), kept.read())

    def test_a_scenario_has_the_imported_application(self):
        scenario = self.scenario("turns.together")
        decode = scenario["containers"]["decode"]
        self.assertEqual(decode, {
            "start": "20s", "compute.timeslice": "512us",
            "app": {**IMPORTED, "type": "phases", "boot": "0s", "memory": "unmanaged"}})
        self.assertNotIn("compute.timeslice", scenario["containers"]["training"])
        self.assertEqual(scenario["duration"], "22s")

    def test_clients_of_mps_have_their_share(self):
        containers = self.scenario("mps.side-by-side")["containers"]
        self.assertEqual({name: c["mps"]["limit"] for name, c in containers.items()},
                         {"decode": 100, "half": 50})

    def test_a_policy_is_simulated_as_gvmd_ran_it(self):
        policy = {"policy": "timeshare", "period": "50ms"}
        kept = predict.Kept(KEPT, "h200-141g")
        scene = predict.Scene(self.options(), [kept], kept, "turns.together")
        (run,) = [run for run in scene.group["runs"] if run["name"] == "together"]
        run["policy"] = policy
        with importing(), tempfile.TemporaryDirectory() as folder:
            scenario = collect.scenario("turns.together", scene, folder)
            with open(os.path.join(folder, "policy.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file), policy)
        self.assertEqual(scenario["system"], {"name": "gvm"})
        self.assertEqual(scenario["policy"], {"file": "./policy.json"})
        self.assertNotIn("policy", self.scenario("turns.together"))

    def test_the_profile_is_that_of_the_folder_or_of_another_one(self):
        kept = predict.Kept(KEPT, "h200-141g")
        other = predict.Kept(KEPT, "h200-141g")
        other.folder = "elsewhere"
        for profiles, where in (({"decode-graph": "a.gz"}, KEPT), ({}, "elsewhere")):
            kept.manifest["profiles"] = profiles
            other.manifest["profiles"] = {"decode-graph": "a.gz", "gpt2-train": "b.gz"}
            scene = predict.Scene(self.options(), [kept, other], kept, "turns.together")
            with importing():
                scene.program("decode")
                self.assertEqual(kinds.import_profile.call_args.args[1:],
                                 (os.path.join(where, "a.gz"), "h200-141g",
                                  os.path.join(KEPT, "solo.alone.decode.rounds.csv")))
        other.manifest["profiles"] = {}
        scene = predict.Scene(self.options(), [kept, other], kept, "turns.together")
        self.assertRaisesRegex(ValueError, "there is no profile of gpt2-train", scene.program,
                               "training")

    def test_steps_alone_are_of_a_run_without_neighbours_and_limits(self):
        kept = predict.Kept(KEPT, "h200-141g")
        self.assertEqual(kept.alone_steps("decode-graph"), os.path.join(KEPT, "solo.alone.decode.rounds.csv"))
        self.assertIsNone(kept.alone_steps("gpt2-train"))  # it never was alone
        kept.manifest["runs"]["solo.alone"]["processes"]["decode"]["mps_percent"] = 50
        self.assertIsNone(kept.alone_steps("decode-graph"))
        # A run that is planned has none.
        self.assertIsNone(predict.Ahead(OUT, kept.manifest["plan"]).alone_steps("decode-graph"))

    def test_predicted_steps_are_those_of_the_runs_seconds(self):
        kept = predict.Kept(KEPT, "h200-141g")
        with importing():
            found = predict.simulate(self.options(), [kept], kept, "turns.together")
        for process in ("decode", "training"):  # the drain of a second has as many again
            p50_ms = found[process]["step_ms_p50"]
            self.assertEqual(found[process]["steps_per_s"], 1000 // p50_ms)
            self.assertGreaterEqual(found[process]["step_ms_p99"], p50_ms)
        ratios = predict.errors(kept, "turns.together", found)["training"]
        self.assertEqual(ratios["step p50"], found["training"]["step_ms_p50"] / 900)
        self.assertEqual(ratios["steps a second"], found["training"]["steps_per_s"])

    def test_a_server_without_a_step_tells_no_launches(self):
        kept = predict.Kept(KEPT, "h200-141g")
        kept.manifest["runs"] = {"solo.alone": kept.manifest["runs"]["solo.alone"]}
        kept.manifest["runs"]["solo.alone"]["processes"]["decode"]["app"] = "llm"
        row = kept.rows["solo.alone", "decode"]
        for steps in ("0", ""):
            row.update(requests_arrived="3", steps=steps, launch_ms_a_step="")
            self.assertRaisesRegex(ValueError, "no FOLDER has a server alone", predict.launch_ms,
                                   [kept], kept, "solo.alone", "decode")
            self.assertRaisesRegex(ValueError, "solo.alone: decode made no step", kept.launch_ms,
                                   "solo.alone", "decode")

    def test_a_simulator_that_dies_in_silence_is_told(self):
        kept = predict.Kept(KEPT, "h200-141g")
        options = self.options()
        options.gvmsim = "false"
        with importing():
            self.assertRaisesRegex(ValueError, "^turns.together: exit code 1$", predict.simulate,
                                   options, [kept], kept, "turns.together")

    def test_a_run_without_a_step_is_predicted(self):
        kept = predict.Kept(KEPT, "h200-141g")
        row = kept.rows["turns.together", "training"]
        row.update(steps="0", steps_per_s="0.000", step_ms_p50="", step_ms_p99="")
        slow = {**IMPORTED, "phases": [dict(IMPORTED["phases"][0], host="100s")]}
        with importing(slow):
            found = predict.simulate(self.options(), [kept], kept, "turns.together")
        self.assertEqual(found["training"], {"steps_per_s": 0})
        results = {"turns.together": predict.errors(kept, "turns.together", found)}
        self.assertEqual(results["turns.together"], {"decode": {}, "training": {}})
        self.assertEqual(predict.table(kept, results)[2:], [
            "| together, decode |  |  |  |\n", "| together, training |  |  |  |\n"])

    def test_a_results_folder_has_the_scenario(self):
        folder = os.path.join(WORK, "collected")
        with importing(), mock.patch.object(sys, "argv", [
                "collect.py", os.path.join(OUT, "turns.together"), folder, "--collector", COLLECTOR,
                "--gvmsim", GVMSIM, "--gpu", "h200-141g"]):
            collect.main()
        with open(os.path.join(folder, "scenario.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file), self.scenario("turns.together"))

    def test_no_module_of_the_kit_hides_a_package(self):
        told = subprocess.run(
            [sys.executable, "-c", "import sys; sys.path[0] = sys.argv[1]; import programs\n"
             "programs.hide_kit(); import kernels", KIT],
            stderr=subprocess.PIPE, text=True, check=False).stderr
        self.assertIn("No module named 'kernels'", told)

    def test_a_table_has_a_row_for_each_program(self):
        with importing():
            lines = predicted().splitlines()
        self.assertEqual(lines[:3], ["kept-programs", "",
                                     "| run | step p50 | step P99 | steps a second |"])
        self.assertEqual([line.split(" | ")[0] for line in lines[4:9]], [
            "| alone", "| together, decode", "| together, training", "| side-by-side, decode",
            "| side-by-side, half"])
        self.assertRegex(lines[5], r"^\| together, decode \| -\d+ % \| -\d+ % \| \+\d+ % \|$")
        self.assertEqual([line.split(",")[0] for line in lines if line.startswith("alone: ")],
                         ["alone: 3 values"])
        self.assertEqual(len([line for line in lines if line.startswith("order in ")]), 1)

    def test_pairs_that_differ_by_more_than_a_fifth_are_put_in_order(self):
        name, column, *_ = kinds.KINDS["program"].metrics[0]
        kept = mock.Mock()
        kept.apps.return_value = {"p": "program"}
        kept.rows = {(f"turns.{run}", "p"): {column: str(value)}
                     for run, value in (("a", 10), ("b", 11), ("c", 20), ("d", 30))}
        # Predicted: 10, 9, 40 and 30. a and b differ by too little; d and c are not in order.
        results = {f"turns.{run}": {"p": {name: ratio}}
                   for run, ratio in (("a", 1), ("b", 9 / 11), ("c", 2), ("d", 1))}
        self.assertEqual(predict.in_order(kept, results),
                         (5, 4, [f"p {name}: c and d"]))

    def ahead(self, plan):
        """Predict the runs of a plan that nobody has run, with the sample's profiles."""
        told = io.StringIO()
        with importing():
            predict.Ahead(OUT, plan).write(self.options(), told)
        return told.getvalue().splitlines()

    def test_runs_are_predicted_ahead_as_they_are_afterwards(self):
        kept = predict.Kept(KEPT, "h200-141g")
        lines = self.ahead(kept.manifest["plan"])
        self.assertEqual(lines[0], "run,process,metric,predicted")
        with importing():
            found = {run: predict.simulate(self.options(), [kept], kept, run)
                     for run in kept.manifest["runs"]}
        self.assertEqual(sorted(lines[1:]), sorted(
            f"{run},{process},{metric},{value:.3f}" for run, processes in found.items()
            for process, values in processes.items() for metric, value in values.items()))

    def test_only_programs_are_predicted_ahead(self):
        plan = predict.Kept(KEPT, "h200-141g").manifest["plan"]
        name = plan["groups"][0]["name"]
        (process,) = plan["groups"][0]["processes"]
        plan["groups"][0]["processes"][process] = dict(app="llm")
        self.assertRaisesRegex(ValueError, f"^{name}.{process}: --ahead needs a program$", self.ahead, plan)

    def test_a_server_needs_measured_constants(self):
        kept = predict.Kept(KEPT, "h200-141g")
        kept.manifest["runs"]["solo.alone"]["processes"]["decode"]["app"] = "llm"
        self.assertRaisesRegex(ValueError, "solo.alone: a server or a pipeline needs --measured",
                               predict.Scene, self.options(), [kept], kept, "solo.alone")

    def test_a_refused_profile_is_told(self):
        self.assertRaisesRegex(ValueError, "^none.json.gz: ", kinds.import_profile, GVMSIM,
                               "none.json.gz", "h200-141g")

    def test_gvmsim_imports_and_predicts(self):
        kept = predict.Kept(KEPT, "h200-141g")
        with mock.patch.object(predict.Kept, "alone_steps", lambda kept, program: None):
            found = predict.simulate(self.options(), [kept], kept, "solo.alone")["decode"]
        self.assertAlmostEqual(found["step_ms_p50"], 0.99, delta=0.05)  # plain_step_ns
        self.assertEqual(found["steps_per_s"], int(1e3 / found["step_ms_p50"]))
        # With its steps alone, of 200 to 230 ms, the host's times are 200 times as long.
        found = predict.simulate(self.options(), [kept], kept, "solo.alone")["decode"]
        self.assertGreater(found["step_ms_p50"], 50)
        lines = predicted().splitlines()
        self.assertRegex(lines[4], r"^\| alone \| [-+]?\d+ % \| [-+]?\d+ % \| [-+]?\d+ % \|$")


if __name__ == "__main__":
    unittest.main()
