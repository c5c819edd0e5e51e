# SPDX-License-Identifier: MIT OR GPL-2.0
"""Records a few steps of a PyTorch program in the form of torch.profiler's Chrome trace.

The steps of a program go through five stages:

    warm-up     kernels are chosen and compiled, the allocator fills its pool
    plain       nothing is recorded but the length of each step, over seconds
    settle      the profiler is on, and its first buffers are made
    timed       CUDA activity alone: launches take about as long as without the profiler
    shapes      operators with their shapes: slow, and only the sizes of tensors are taken

The file is the trace of the timed steps, as torch.profiler exports it, with one more key,
"gvmsim": when the steps were, how long plain ones took, the memory, and how many bytes the
tensors of each kernel have. A program of one process and one GPU is recorded.
"""
import contextlib
import errno
import gzip
import json
import math
import os
import tempfile
import time

VERSION = 1
BYTES = {"double": 8, "float": 4, "int": 4, "long int": 8, "short": 2, "bool": 1, "signed char": 1,
         "unsigned char": 1, "c10::Half": 2, "c10::BFloat16": 2, "c10::Float8_e4m3fn": 1,
         "c10::Float8_e5m2": 1, "c10::complex<float>": 8}
# Operators whose results are small beside their operands, and those that only write.
REDUCE = {"aten::sum", "aten::mean", "aten::max", "aten::min", "aten::argmax", "aten::amax",
          "aten::norm", "aten::linalg_vector_norm", "aten::var_mean", "aten::all", "aten::any"}
WRITE = {"aten::fill_", "aten::zero_", "aten::normal_", "aten::uniform_", "aten::random_"}
# Those that read the rows of a table, the first operand, that are in an operand of indices.
TABLES = {"aten::embedding", "aten::_embedding_bag", "aten::_embedding_bag_forward_only"}
PICKS = {"aten::gather", "aten::index_select"}


def operand_bytes(arguments):
    """The sizes of the tensors that an operator is given."""
    dims, types = arguments.get("Input Dims", []), arguments.get("Input type", [])
    found = []
    for dim, kind in zip(dims, types):
        if isinstance(dim, list) and dim and all(isinstance(n, int) for n in dim):
            found.append(math.prod(dim) * BYTES.get(kind, 0))
        elif isinstance(dim, list) and dim and isinstance(dim[0], list):  # a list of tensors
            found += [math.prod(part) * BYTES.get(name, 4) for part, name in
                      zip(dim, kind if isinstance(kind, list) else ["float"] * len(dim))
                      if isinstance(part, list)]
    return [size for size in found if size]


def gathered_bytes(name, arguments):
    """What an operator that gathers moves: indices, what they pick, and the result. 0: not known.

    What is picked twice counts twice: a profile has no values of indices.
    """
    dims, types = arguments.get("Input Dims", []), arguments.get("Input type", [])
    values = arguments.get("Concrete Inputs", [])
    place = 2 if name in PICKS else 1
    if min(len(dims), len(types)) <= place or not dims[0]:
        return 0
    indices = math.prod(dims[place])
    sizes = indices * BYTES.get(types[place], 0)
    number = BYTES.get(types[0], 0)
    if name == "aten::gather":  # a number for each index
        return sizes + 2 * indices * number
    if name in PICKS:
        try:
            row = math.prod(dims[0]) // dims[0][int(values[1])]
        except (IndexError, ValueError, ZeroDivisionError):
            return 0
    else:
        row = math.prod(dims[0][1:])
    results = indices
    if name.startswith("aten::_embedding_bag"):  # the sum of a bag's rows, which an offset begins
        if len(dims) <= 2:
            return 0
        results = math.prod(dims[2])
        sizes += results * BYTES.get(types[2], 0)
    return sizes + (indices + results) * row * number


def operator_bytes(name, arguments):
    """What an operator moves if it reads and writes each of its tensors once."""
    sizes = operand_bytes(arguments)
    if not sizes:
        return 0
    gathered = gathered_bytes(name, arguments) if name in TABLES or name in PICKS else 0
    if gathered:
        return gathered
    if name in WRITE:
        return sizes[0]
    if name in REDUCE or name == "aten::copy_":  # the first operand of copy_ is the result
        return sum(sizes)
    return sum(sizes) + (sizes[0] if name.endswith("_") else max(sizes))


def kernel_bytes(events):
    """[kernel, grid, block, bytes of its operator, a mean], for kernels of operators with shapes."""
    operators, sums = {}, {}
    for event in events:
        arguments = event.get("args", {})
        if event.get("cat") == "cpu_op" and "Input Dims" in arguments:
            moved = operator_bytes(event["name"], arguments)
            if moved:
                operators[arguments.get("External id")] = moved
    for event in events:
        arguments = event.get("args", {})
        moved = operators.get(arguments.get("External id"))
        if event.get("cat") == "kernel" and moved and "grid" in arguments and "block" in arguments:
            key = (event["name"], tuple(arguments["grid"]), tuple(arguments["block"]))
            count, total = sums.get(key, (0, 0))
            sums[key] = (count + 1, total + moved)
    return [[name, list(grid), list(block), total // count]
            for (name, grid, block), (count, total) in sorted(sums.items())]


def exported(profiler):
    """The trace of a profiler, as an object."""
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "trace.json")
    try:
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8", errors="replace") as file:
            return json.load(file)
    finally:
        if os.path.exists(path):
            os.unlink(path)
        os.rmdir(folder)


def write_whole(path, trace):
    """Write a trace to a file, all or nothing. An OSError names the file."""
    new = path + ".new"
    opener = gzip.open if path.endswith(".gz") else open
    try:
        with opener(new, "wt", encoding="utf-8") as file:
            json.dump(trace, file, separators=(",", ":"))
        os.replace(new, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(new)
        if isinstance(error, OSError):
            raise OSError(error.errno, error.strerror, path) from error
        raise


def check_path(path):
    """Refuse a path that no file can be written to: minutes later the recording would be lost."""
    if not path:
        raise ValueError("the path is empty")
    if os.path.exists(path) and not os.path.isfile(path):
        raise ValueError(f"{path} is there and is no file")
    folder = os.path.dirname(path) or "."
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)


class Recorder:
    """step() says that a step has been launched. close() writes the file; record() calls it.

    warmup, plain, settle, timed and shapes are the steps of the stages. The plain stage takes
    seconds at least: the speed of a host's processors changes from second to second.
    """

    def __init__(self, path, warmup=5, plain=10, settle=1, timed=3, shapes=1, seconds=3.0):
        import torch

        if not torch.cuda.is_available():
            raise RuntimeError("gvm_profile needs a GPU that PyTorch can use")
        if min(warmup, plain, settle, timed, shapes) < 1:
            raise ValueError("each stage needs a step at least")
        self.torch, self.path, self.plain_least_ns = torch, os.fspath(path), seconds * 1e9
        check_path(self.path)
        # Steps of a stage, and what is done at its end.
        self.stages = [(warmup, self._begin_plain), (plain, self._end_plain),
                       (settle, self.torch.cuda.synchronize), (timed, self._end_timed),
                       (shapes, self._end_shapes)]
        self.stage, self.steps = 0, 0
        self.stage_ns = self.step_ns = time.time_ns()
        self.profiler, self.trace = None, None
        self.recorded = dict(version=VERSION, steps_ns=[], plain_steps_ns=[])

    def _profile(self, shapes):
        """Begin to profile."""
        activities = self.torch.profiler.ProfilerActivity
        self.profiler = self.torch.profiler.profile(
            activities=[activities.CPU, activities.CUDA] if shapes else [activities.CUDA],
            record_shapes=shapes)
        self.profiler.start()

    def _stop(self):
        """The trace since _profile()."""
        self.torch.cuda.synchronize()
        self.profiler.stop()
        trace, self.profiler = exported(self.profiler), None
        return trace

    def _begin_plain(self):
        self.torch.cuda.synchronize()
        self.torch.cuda.reset_peak_memory_stats()

    def _end_plain(self):
        cuda = self.torch.cuda
        cuda.synchronize()
        self.recorded["plain_step_ns"] = (time.time_ns() - self.stage_ns) // self.steps
        # What is allocated between steps, and what the allocator's pool has grown to.
        self.recorded["memory"] = dict(state=cuda.memory_allocated(),
                                       peak=cuda.max_memory_allocated(),
                                       reserved=cuda.memory_reserved())
        self._profile(shapes=False)

    def _end_timed(self):
        self.trace = self._stop()
        self._profile(shapes=True)

    def _end_shapes(self):
        self.recorded["kernel_bytes"] = kernel_bytes(self._stop()["traceEvents"])

    def _stage_is_over(self, now_ns):
        """Has the stage had its steps, and the plain one its time?"""
        steps, end = self.stages[self.stage]
        return self.steps >= steps and (end != self._end_plain or
                                        now_ns - self.stage_ns >= self.plain_least_ns)

    def done(self):
        """Is there nothing more to record?"""
        return self.stage == len(self.stages)

    def step(self):
        """The program has launched a step. True if there is nothing more to record."""
        if self.done():
            return True
        now_ns = time.time_ns()
        _, end = self.stages[self.stage]
        if end == self._end_timed:
            self.recorded["steps_ns"].append([self.step_ns, now_ns])
        elif end == self._end_plain:
            self.recorded["plain_steps_ns"].append(now_ns - self.step_ns)
        self.steps += 1
        if self._stage_is_over(now_ns):
            end()
            self.stage, self.steps, self.stage_ns = self.stage + 1, 0, time.time_ns()
        self.step_ns = time.time_ns()
        return self.done()

    def close(self):
        """Write the file, all or nothing."""
        if not self.done():
            if self.profiler:
                self.profiler.stop()
            raise RuntimeError(f"{self.path}: the program ended before its profile was recorded: "
                               f"in stage {self.stage + 1} of {len(self.stages)}")
        self.trace["gvmsim"] = self.recorded
        write_whole(self.path, self.trace)


class record:
    """A Recorder whose file is written at the end of a with block without an error."""

    def __init__(self, path, **stages):
        self.recorder = Recorder(path, **stages)

    def __enter__(self):
        return self.recorder

    def __exit__(self, kind, error, trace):
        if kind is None:
            self.recorder.close()
        elif self.recorder.profiler:
            self.recorder.profiler.stop()
