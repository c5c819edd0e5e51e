# SPDX-License-Identifier: MIT OR GPL-2.0
"""What corun.py asks of the GPU's tools: facts, clocks, MPS, and the library of timeslices."""

import os
import shutil
import subprocess
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CLOCKS = ("clocks.sm", "clocks.mem", "power.draw", "temperature.gpu", "utilization.gpu",
          "clocks_event_reasons.active")
CLOCK_COLUMNS = ("monotonic_ns", "sm_mhz", "memory_mhz", "power_w", "temperature_c",
                 "busy_percent", "event_reasons")


def facts():
    """Name, driver and memory of each GPU; empty without nvidia-smi."""
    try:
        result = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,compute_mode,"
             "clocks.max.sm,power.limit", "--format=csv,noheader,nounits"],
            text=True, stdout=subprocess.PIPE, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    names = ("name", "driver", "memory_mib", "compute_mode", "max_sm_mhz", "power_limit_w")
    return [dict(zip(names, line.split(", "))) for line in result.stdout.splitlines()]


class Clocks:
    """Samples the first GPU's clocks every two seconds, into a file and for runs."""

    def __init__(self, path):
        self.samples, self.process = [], None
        try:
            self.process = subprocess.Popen(
                ["nvidia-smi", "-i", "0", "--query-gpu=" + ",".join(CLOCKS),
                 "--format=csv,noheader,nounits", "-l", "2"],
                text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        except OSError:
            return
        self.file = open(path, "w", encoding="utf-8")
        self.file.write(",".join(CLOCK_COLUMNS) + "\n")
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for line in self.process.stdout:
            now, fields = time.monotonic_ns(), line.strip().split(", ")
            self.file.write(",".join([str(now)] + fields) + "\n")
            self.file.flush()
            if fields[0].isdigit():
                self.samples.append((now, int(fields[0])))

    def between(self, start_ns, end_ns):
        """Mean and least SM clock in MHz within a run; None if it was not sampled."""
        found = [mhz for date, mhz in self.samples if start_ns <= date <= end_ns]
        return dict(mean=round(sum(found) / len(found)), min=min(found)) if found else None

    def stop(self):
        """End sampling."""
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.thread.join(5)
            self.file.close()


class Mps:
    """A daemon of MPS of our own, for the processes that get its environment."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="corun-mps")
        self.environment = dict(CUDA_MPS_PIPE_DIRECTORY=os.path.join(self.folder, "pipe"),
                                CUDA_MPS_LOG_DIRECTORY=os.path.join(self.folder, "log"))
        for folder in self.environment.values():
            os.makedirs(folder)
        subprocess.run(["nvidia-cuda-mps-control", "-d"], check=True, timeout=30,
                       env=dict(os.environ, **self.environment))
        time.sleep(1)

    def ask(self, command):
        """A command of nvidia-cuda-mps-control, and its answer."""
        result = subprocess.run(["nvidia-cuda-mps-control"], input=command + "\n", text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30,
                                env=dict(os.environ, **self.environment))
        return result.stdout.strip()

    def stop(self):
        """End the daemon."""
        try:
            self.ask("quit")
        except subprocess.SubprocessError:
            pass
        shutil.rmtree(self.folder, ignore_errors=True)


def build_timeslice_library(folder):
    """Compile timeslice.c into folder. Returns the library's path."""
    library = os.path.join(os.path.abspath(folder), "timeslice.so")
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-o", library,
                    os.path.join(HERE, "timeslice.c"), "-ldl", "-lpthread"], check=True)
    return library
