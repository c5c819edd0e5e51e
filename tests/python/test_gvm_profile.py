#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""The Python package gvm_profile, with a stand-in for PyTorch: its stages and its file. Profiles of real
programs, which it recorded on a GPU, are in plots/reference/hardware/h200-programs."""

import errno
import gzip
import json
import os
import resource
import signal
import sys
import tempfile
import types
import unittest
from unittest import mock

from gvm_profile import record, recorder


class FakeProfiler:
    """Knows the activities that it was begun with, and exports a trace that tells them."""

    def __init__(self, log, activities, record_shapes):
        self.log, self.activities, self.shapes = log, activities, record_shapes

    def start(self):
        self.log.append(f"start {'+'.join(self.activities)}")

    def stop(self):
        self.log.append("stop")

    def export_chrome_trace(self, path):
        events = [{"cat": "cpu_op", "name": "aten::add", "args": {
            "External id": 7, "Input Dims": [[4, 8], [4, 8], []],
            "Input type": ["c10::BFloat16", "c10::BFloat16", "Scalar"]}}] if self.shapes else []
        events.append({"cat": "kernel", "name": "add", "args": {
            "External id": 7, "grid": [1, 1, 1], "block": [32, 1, 1]}})
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"traceEvents": events}, file)


def fake_torch(log, available=True):
    """What the recorder uses of torch."""
    cuda = types.SimpleNamespace(
        is_available=lambda: available, synchronize=lambda: log.append("wait"),
        reset_peak_memory_stats=lambda: log.append("reset"), memory_allocated=lambda: 100,
        max_memory_allocated=lambda: 300, memory_reserved=lambda: 400)
    profiler = types.SimpleNamespace(
        ProfilerActivity=types.SimpleNamespace(CPU="cpu", CUDA="cuda"),
        profile=lambda activities, record_shapes: FakeProfiler(log, activities, record_shapes))
    return types.SimpleNamespace(cuda=cuda, profiler=profiler)


class Recording(unittest.TestCase):
    def setUp(self):
        self.log, self.now = [], 1000
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "mine.json.gz")
        for patch in (mock.patch.dict(sys.modules, {"torch": fake_torch(self.log)}),
                      mock.patch.object(recorder.time, "time_ns", lambda: self.now)):
            patch.start()
            self.addCleanup(patch.stop)
        self.addCleanup(self.folder.cleanup)

    def run_steps(self, profile, most=1000, length_ns=10**8):
        """Steps of the program until the recorder has enough. Returns their number."""
        for step in range(1, most + 1):
            self.now += length_ns
            if profile.step():
                return step
        return most

    def test_the_stages_follow_each_other(self):
        with record(self.path, warmup=2, plain=3, settle=1, timed=2, shapes=1, seconds=0) as profile:
            self.assertEqual(self.run_steps(profile), 2 + 3 + 1 + 2 + 1)
        self.assertEqual(self.log, ["wait", "reset", "wait", "start cuda", "wait", "wait", "stop",
                                    "start cpu+cuda", "wait", "stop"])
        with gzip.open(self.path, "rt", encoding="utf-8") as file:
            trace = json.load(file)
        self.assertEqual(len(trace["traceEvents"]), 1)
        told = trace["gvmsim"]
        self.assertEqual(told["plain_step_ns"], 10**8)
        self.assertEqual(told["plain_steps_ns"], [10**8] * 3)
        self.assertEqual(told["steps_ns"], [[1000 + n * 10**8, 1000 + (n + 1) * 10**8] for n in (6, 7)])
        self.assertEqual(told["memory"], {"state": 100, "peak": 300, "reserved": 400})
        # Two operands and a result of 4 x 8 numbers of two bytes.
        self.assertEqual(told["kernel_bytes"], [["add", [1, 1, 1], [32, 1, 1], 192]])
        self.assertEqual(os.listdir(self.folder.name), ["mine.json.gz"])

    def test_plain_steps_take_their_seconds(self):
        with record(self.path, seconds=3.0) as profile:
            self.assertEqual(self.run_steps(profile), 5 + 30 + 1 + 3 + 1)

    def test_a_program_that_ends_early_leaves_no_file(self):
        with self.assertRaisesRegex(RuntimeError, "mine.json.gz: the program ended before its profile was "
                                                  "recorded: in stage 4 of 5"):
            with record(self.path, seconds=0) as profile:
                self.run_steps(profile, most=17)
        self.assertEqual(self.log[-1], "stop")
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_an_error_of_the_program_is_its_own(self):
        with self.assertRaisesRegex(KeyError, "mine"):
            with record(self.path, seconds=0) as profile:
                self.run_steps(profile, most=17)
                raise KeyError("mine")
        self.assertEqual(self.log[-1], "stop")
        self.assertEqual(os.listdir(self.folder.name), [])

    def record_all(self):
        with record(self.path, warmup=1, plain=1, settle=1, timed=1, shapes=1, seconds=0) as profile:
            self.run_steps(profile)

    def test_a_file_that_cannot_be_written_leaves_what_was_there(self):
        """The disk is full, by a limit of a file's size: FILE.new goes, and an earlier FILE stays."""
        self.addCleanup(resource.setrlimit, resource.RLIMIT_FSIZE, resource.getrlimit(resource.RLIMIT_FSIZE))
        self.addCleanup(signal.signal, signal.SIGXFSZ, signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
        export = FakeProfiler.export_chrome_trace

        def full(profiler, path):
            export(profiler, path)
            resource.setrlimit(resource.RLIMIT_FSIZE, (16, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

        for name in ("mine.json.gz", "mine.json"):
            self.path = os.path.join(self.folder.name, name)
            with open(self.path, "w", encoding="utf-8") as file:
                file.write("of an earlier run")
            # Only the last export may fill the disk: the first one would be refused its own file.
            with mock.patch.object(FakeProfiler, "export_chrome_trace",
                                   lambda fake, path: (full if fake.shapes else export)(fake, path)):
                with self.assertRaises(OSError) as raised:
                    self.record_all()
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            self.assertEqual(raised.exception.errno, errno.EFBIG)
            self.assertEqual(raised.exception.filename, self.path)
            with open(self.path, encoding="utf-8") as file:
                self.assertEqual(file.read(), "of an earlier run")
            self.assertEqual(os.listdir(self.folder.name), [name])
            os.unlink(self.path)

    def test_a_trace_that_is_no_json_leaves_no_file(self):
        with mock.patch.object(recorder, "kernel_bytes", lambda events: {1, 2}):
            with self.assertRaises(TypeError):
                self.record_all()
        self.assertEqual(os.listdir(self.folder.name), [])

    def test_a_path_that_cannot_be_written_is_refused_before_the_recording(self):
        os.mkdir(self.path)
        for path, kind, said in ((self.path, ValueError, "mine.json.gz is there and is no file"),
                                 ("/dev/null", ValueError, "/dev/null is there and is no file"),
                                 ("", ValueError, "the path is empty"),
                                 (os.path.join(self.folder.name, "none", "mine.json"), FileNotFoundError, "none")):
            with self.assertRaisesRegex(kind, said):
                record(path)
        self.assertEqual(self.log, [])

    def test_an_error_while_it_ends_names_the_file(self):
        with self.assertRaises(OSError) as raised:
            with record(self.path, warmup=1, plain=1, settle=1, timed=1, shapes=1, seconds=0) as profile:
                self.run_steps(profile)
                os.mkdir(self.path)
        self.assertEqual(raised.exception.filename, self.path)
        self.assertEqual(os.listdir(self.folder.name), ["mine.json.gz"])

    def test_without_a_gpu_it_says_so(self):
        with mock.patch.dict(sys.modules, {"torch": fake_torch(self.log, available=False)}):
            with self.assertRaisesRegex(RuntimeError, "needs a GPU"):
                record(self.path)
        with self.assertRaisesRegex(ValueError, "each stage needs a step"):
            record(self.path, timed=0)


class Sizes(unittest.TestCase):
    def moved(self, name, dims, types_, values=()):
        return recorder.operator_bytes(name, {"Input Dims": dims, "Input type": types_,
                                              "Concrete Inputs": list(values)})

    def test_what_operators_move(self):
        two = ["float", "float"]
        self.assertEqual(self.moved("aten::mul", [[10], [10]], two), 120)
        self.assertEqual(self.moved("aten::mul_", [[10], [1]], two), 84)
        self.assertEqual(self.moved("aten::copy_", [[10], [10]], ["c10::BFloat16", "float"]), 60)
        self.assertEqual(self.moved("aten::sum", [[10], []], ["float", ""]), 40)
        self.assertEqual(self.moved("aten::zero_", [[10]], ["long int"]), 80)
        self.assertEqual(self.moved("aten::cat", [[[2, 3], [4]], []], [["c10::Half", "float"], ""]), 44)
        self.assertEqual(self.moved("aten::empty", [[], []], ["", ""]), 0)

    def test_a_gather_reads_the_rows_that_it_gathers(self):
        # 6 indices of 8 bytes, 2 offsets; rows of 4 numbers of 2 bytes are read 6 times, written 2 times.
        table = ["c10::Half", "long int", "long int"]
        for name in ("aten::_embedding_bag", "aten::_embedding_bag_forward_only"):
            self.assertEqual(self.moved(name, [[1000, 4], [6], [2], []], table + [""]),
                             6 * 8 + 2 * 8 + (6 + 2) * 4 * 2)
        self.assertEqual(self.moved("aten::embedding", [[1000, 4], [2, 3]], table[:2]), 6 * 8 + 2 * 6 * 4 * 2)
        self.assertEqual(self.moved("aten::gather", [[1000, 4], [], [3, 4]], ["float", "Scalar", "long int"]),
                         12 * 8 + 2 * 12 * 4)
        picked = [[1000, 4], [], [6]], ["float", "Scalar", "long int"]
        self.assertEqual(self.moved("aten::index_select", *picked, ["", "0", ""]), 6 * 8 + 2 * 6 * 4 * 4)
        self.assertEqual(self.moved("aten::index_select", *picked, ["", "1", ""]), 6 * 8 + 2 * 6 * 1000 * 4)
        self.assertEqual(self.moved("aten::index_select", *picked, ["", "-2", ""]), 6 * 8 + 2 * 6 * 4 * 4)
        # Of which dimension is not said: all operands, and the largest again as the result.
        self.assertEqual(self.moved("aten::index_select", *picked), 6 * 8 + 2 * 1000 * 4 * 4)

    def test_a_kernel_without_a_grid_has_no_size(self):
        operator = {"cat": "cpu_op", "name": "aten::add", "args": {
            "External id": 7, "Input Dims": [[4]], "Input type": ["float"]}}
        bare = {"cat": "kernel", "name": "add", "args": {"External id": 7}}
        whole = {"cat": "kernel", "name": "mul", "args": {
            "External id": 7, "grid": [1, 1, 1], "block": [32, 1, 1]}}
        self.assertEqual(recorder.kernel_bytes([operator, bare, whole]),
                         [["mul", [1, 1, 1], [32, 1, 1], 32]])


if __name__ == "__main__":
    unittest.main()
