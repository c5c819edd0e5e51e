#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
#
# The shim on a real GPU: run.py PROGRAMS SHIM OUT [PART...]
#
# PROGRAMS is the folder of programs with their binaries, SHIM is libgvm_shim.so, OUT a folder for results. Parts, in
# order: same (results are bit-identical), counts (launches against CUPTI's), turns, cycles, limit, places,
# rates. On request: calls (ns of a call), pairs (steps a second, five turns of processes), resident (GVM_RESIDENT),
# pressure (the Python package), pools (answers about memory pools), running (timeslices of running programs by gvmctl), frozen (programs off the GPU and
# back, by gvmctl and by a policy of gvmd), thawed (what they compute then), beyond
# (arrays and other memory without an address), ranges (addresses of managed memory, exports, what allocations cost), states (each call in each state of a process), shared
# (IPC beside MPS), cards (two cards); resident, pressure, running, frozen and thawed need gvmd and gvmctl in the folder TOOLS.
# Each program has a time limit of its own, and what has worked is written at once. No setting of the card is
# touched.
import concurrent.futures
import glob
import itertools
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

PROGRAMS, SHIM, OUT = (os.path.abspath(a) for a in sys.argv[1:4])
PARTS = sys.argv[4:] or ["same", "counts", "turns", "cycles", "limit", "places", "rates"]
BUDGET = float(os.environ.get("BUDGET", "400"))
BEGAN = time.time()
PYTHON = ["torch_train", "torch_infer", "torch_graphs", "torch_streams", "torch_loader", "torch_ipc", "triton_rows",
          "jax_train", "cupy_sort"]
TOOLS = os.environ.get("TOOLS", "")
BINARIES = ["sample", "vmm", "blas", "ipc"]
COUNTED = {"GVM_SHIM_MANAGED": "0"}
LOGS = os.path.join(OUT, "logs.txt")
SCRATCH = tempfile.mkdtemp()

# The dynamic linker only warns of a library that is not there: all results would be "same".
if not os.path.isfile(SHIM):
    sys.exit(f"run.py: {SHIM} is not there")


def say(text, file="results.txt"):
    print(text, flush=True)
    with open(os.path.join(OUT, file), "a") as f:
        f.write(text + "\n")


def command(name):
    if name in PYTHON + ["resident", "pressure", "nccl_ranks"]:
        return ["python3", os.path.join(PROGRAMS, name + ".py")]
    return [os.path.join(PROGRAMS, "bin", name)]


def libraries():
    found = glob.glob("/usr/local/cuda*/lib64") + glob.glob("/usr/local/cuda*/targets/*/lib")
    out = subprocess.run(["python3", "-c", "import nvidia,glob;print(glob.glob(list(nvidia.__path__)[0]+'/**/lib',recursive=True))"],
                         capture_output=True, text=True).stdout
    found += re.findall(r"'([^']+)'", out)
    return found


LIBRARIES = libraries()


def find(pattern):
    for folder in LIBRARIES + glob.glob("/usr/local/cuda*/extras/CUPTI/lib64"):
        hits = sorted(glob.glob(os.path.join(folder, pattern)))
        if hits:
            return hits[-1]
    return None


serials = itertools.count(1)


# Run a program. @shim: None without it, else variables for it. Returns what is known of it.
def run(name, shim=None, label="", timeout=90, args=(), extra=None, profile=False):
    tag = os.path.join(SCRATCH, "%03d" % next(serials))
    env = dict(os.environ, XLA_PYTHON_CLIENT_MEM_FRACTION=".2", **(extra or {}))
    if name == "blas":
        env["LD_LIBRARY_PATH"] = ":".join(LIBRARIES + [env.get("LD_LIBRARY_PATH", "")])
    log, count = tag + ".shim", tag + ".count"
    if shim is not None:
        env.update(shim, LD_PRELOAD=SHIM, GVM_SHIM_LOG=log)
    if profile:
        env.update(CUDA_INJECTION64_PATH=os.path.join(PROGRAMS, "bin", "libkernel_count.so"), KERNEL_COUNT=count,
                   CUPTI_LIBRARY=find("libcupti.so.13") or find("libcupti.so*") or "libcupti.so.13")
    start = time.time()
    with open(tag + ".out", "w+") as o, open(tag + ".err", "w+") as e:
        child = subprocess.Popen(command(name) + list(args), env=env, cwd=PROGRAMS, stdin=subprocess.DEVNULL,
                                 stdout=o, stderr=e, start_new_session=True)
        try:
            rc = child.wait(timeout)
        except subprocess.TimeoutExpired:
            rc = "late"
        try:
            os.killpg(child.pid, 9)
        except ProcessLookupError:
            pass
        child.wait()
        o.seek(0)
        e.seek(0)
        out, err = o.read(), e.read()
    seconds = time.time() - start
    shim_log = open(log).read() if os.path.exists(log) else ""
    counts = open(count).read() if os.path.exists(count) else ""
    for path in (log, count, tag + ".out", tag + ".err"):
        if os.path.exists(path):
            os.unlink(path)
    with open(LOGS, "a") as f:
        f.write("==== %s %s rc %s %.1f s\n%s\n%s\n%s%s\n" % (name, label, rc, seconds, out[-1500:], err[-1500:],
                                                           shim_log[:1500] + "...\n" + shim_log[-1000:] if len(shim_log) > 2500 else shim_log, counts))
    hashed = re.search(r"^hash (\w+)", out, re.M)
    rate = re.findall(r"^rate ([\d.]+)", out, re.M)
    known = re.search(r"^kernels (\d+)", out, re.M)
    return {
        "name": name, "rc": rc, "seconds": seconds, "hash": hashed and hashed.group(1), "out": out, "err": err,
        "rate": float(rate[0]) if rate else None, "rates": [float(x) for x in rate], "known": known and int(known.group(1)), "log": shim_log,
        "launched": {int(p): int(n) for p, n in re.findall(r"shim\[(\d+)\]: GPU 0: launched (\d+)", shim_log)},
        "cupti": {int(p): int(n) for p, n in re.findall(r"cupti (\d+) (\d+)", counts)},
        "dropped": sum(int(n) for n in re.findall(r"dropped (\d+)", counts)),
    }


def together(jobs, width=6):
    with concurrent.futures.ThreadPoolExecutor(width) as pool:
        return list(pool.map(lambda job: run(*job[0], **job[1]), jobs))


def left():
    return BUDGET - (time.time() - BEGAN)


# SAME names the variants to run besides the plain one.
def same():
    say("# same: name, hash without the shim, hash with managed memory, with device memory; rc of each; what CUDA "
        "calls the program made went through")
    names = (os.environ.get("ONLY") or " ".join(BINARIES + PYTHON)).split()
    variants = os.environ.get("SAME", "managed counted" if left() > 240 else "managed").split()
    shims = {"plain": None, "managed": {}, "counted": COUNTED}
    done = together([((n, shims[v]), dict(label=v)) for v in ["plain"] + variants for n in names], 10)
    done = {v: done[i * len(names):] for i, v in enumerate(["plain"] + variants)}
    nothing = {"hash": None, "rc": "-", "seconds": 0, "launched": {}, "log": ""}
    for i, a in enumerate(done["plain"][:len(names)]):
        others = [done[v][i] if v in done else nothing for v in ("managed", "counted")]
        last = done[variants[0]][i]
        say("same %-14s %s %s rc %s %s seconds %.1f %s launched %s redirected %s" % (
            a["name"], a["hash"],
            " ".join("-" if r is nothing else "same" if a["hash"] and r["hash"] == a["hash"] else str(r["hash"]) for r in others),
            a["rc"], " ".join(str(r["rc"]) for r in others), a["seconds"], " ".join("%.1f" % r["seconds"] for r in others),
            sum(last["launched"].values()), re.findall(r"redirected (\d+) pool (\d+)", last["log"])))


def counts():
    say("# counts: name, launches the shim counted, kernels CUPTI saw, kernels the program says; by process")
    for r in together([((n, {}), dict(label="count", profile=True, timeout=120))
                       for n in (os.environ.get("ONLY") or " ".join(BINARIES + PYTHON)).split()]):
        pairs = ["%s/%s" % (r["launched"].get(p), r["cupti"].get(p))
                 for p in sorted(set(r["launched"]) | set(r["cupti"]))]
        exact = all(r["launched"].get(p, 0) == r["cupti"].get(p, 0) for p in set(r["launched"]) | set(r["cupti"]))
        say("counts %-14s shim/cupti %s known %s dropped %d rc %s %s" % (
            r["name"], " ".join(pairs), r["known"], r["dropped"], r["rc"],
            "exact" if exact and r["cupti"] else "DIFFERS" if r["cupti"] else "no profiler"))


# TURNS names the cases, with "alone" among them; TURN_SECONDS is the time of each.
def turns():
    labels = os.environ.get("TURNS", "alone default first second").split()
    seconds = float(os.environ.get("TURN_SECONDS", "8"))
    say("# turns: two applications side by side for %g s; steps a second of each, share of alone, timeslices" % seconds)
    shims = {"default": ({}, {}), "first": ({"GVM_PRIORITY": "2"}, {"GVM_PRIORITY": "10"}),
             "second": ({"GVM_TIMESLICE": "512us"}, {"GVM_TIMESLICE": "131072us"})}
    alone = {}
    heavy = {"torch_train": {"BATCH": "256"}, "torch_infer": {"BATCH": "64"}}
    for name in ("torch_train", "torch_infer") if "alone" in labels else ():
        r = run(name, COUNTED, "alone", extra=dict(heavy[name], SECONDS=str(seconds)))
        alone[name] = r["rate"]
        say("turns alone %s rate %s rc %s" % (name, r["rate"], r["rc"]))
    for label, (a, b) in shims.items():
        if label not in labels or left() < 20 + seconds:
            continue
        at = {"SECONDS": str(seconds), "START_AT": str(time.time() + 12)}
        pair = together([(("torch_train", dict(COUNTED, **a)), dict(label="turns " + label, extra=dict(heavy["torch_train"], **at))),
                         (("torch_infer", dict(COUNTED, **b)), dict(label="turns " + label, extra=dict(heavy["torch_infer"], **at)))])
        say("turns %-8s %s" % (label, "  ".join("%s rate %s of alone %s rc %s %s" % (
            r["name"], r["rate"], "%.3f" % ((r["rate"] or 0) / alone[r["name"]]) if alone.get(r["name"]) else "-", r["rc"],
            re.findall(r"timeslice (\d+ us set and read back on \d+ of \d+)", r["log"])) for r in pair)))


def gpu_memory():
    done = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader"], capture_output=True,
                          text=True)
    return done.stdout.strip()


def cycles():
    folder = "/run/gvm-shim"
    before = gpu_memory()
    plain = [run("sample", None, "plain leave", timeout=30, args=("20", "leave"))["rc"] for i in range(8)]
    say("cycles of a program that launches while it exits, without the shim: rc %s" % plain)
    results = []
    for i in range(24):
        if left() < 20:
            break
        name, args = [("sample", ("20",)), ("sample", ("20", "leave")), ("vmm", ())][i % 3]
        results.append(run(name, {}, "cycle %d" % i, timeout=30, args=args))
    files = [os.path.join(d, f) for d, _, fs in os.walk(folder) for f in fs]
    say("cycles that launch at exit, with the shim: rc %s" % [r["rc"] for r in results[1::3]])
    say("cycles %d of them rc 0: %d; GPU memory before %s after %s; files left %s; seconds each %.2f" % (
        len(results), sum(r["rc"] == 0 for r in results), before, gpu_memory(), files or "none",
        sum(r["seconds"] for r in results) / max(1, len(results))))


VARIANTS = [("plain", None), ("counted", COUNTED), ("none", {"GVM_SHIM_PLACE": "none"}),
            ("advise", {"GVM_SHIM_PLACE": "advise"}), ("prefetch", {"GVM_SHIM_PLACE": "prefetch"})]


RATED = {"torch_train": "300", "torch_graphs": "1500", "torch_infer": "100"}
# Likewise for pairs, with ONLY. jax_train makes one measurement.
MORE_RATED = {"jax_train": "5000", "triton_rows": "20000", "torch_streams": "500"}


# With BACKWARDS set the variants come in the opposite order.
def rates():
    say("# rates: steps a second, five measurements in each process; variants in turn")
    variants = VARIANTS[::-1] if os.environ.get("BACKWARDS") else VARIANTS
    for name, steps in RATED.items():
        for label, shim in variants:
            if left() < 15:
                return
            r = run(name, shim, "rate " + label, extra={"STEPS": steps, "REPEAT": "5"})
            say("rates %-12s %-9s %s median %s seconds %.2f rc %s" % (
                name, label, " ".join("%.1f" % x for x in r["rates"]), sorted(r["rates"])[2:3], r["seconds"], r["rc"]))


def calls():
    say("# calls: ns of a call, the median of five processes' medians and of their means; variants in turn")
    shims = {"plain": None, "counted": COUNTED, "managed": {},
             "container": {"GVM_CONTAINER": "calls", "GVM_LIMIT": "20G"}}
    found = {}
    for number in range(5):
        for label in list(shims)[::-1 if number % 2 else 1]:
            r = run("calls", shims[label], label)
            say("calls %s %s rc %s" % (number, label, r["rc"]), "raw.txt")
            for name, median, mean in re.findall(r"^call (\S+) (\d+) (\d+)", r["out"], re.M):
                say("calls %s %s %s %s %s" % (number, label, name, median, mean), "raw.txt")
                found.setdefault(name, {}).setdefault(label, []).append((int(median), int(mean)))
    for name, labels in found.items():
        say("calls %-12s %s" % (name, "  ".join("%s %d %d" % (label, *(sorted(x)[len(x) // 2] for x in zip(*labels[label])))
                                              for label in shims)))


# Processes take turns, five of each kind. A process's rate is the median of its measurements.
def pairs():
    kinds = [("plain", None), ("counted", COUNTED), ("managed", {})]
    say("# pairs: steps a second: without the shim, counted alone, with managed memory; a ratio is over plain of its turn")
    for name in (os.environ.get("ONLY") or "torch_graphs torch_train torch_infer").split():
        ratios, launched = {"counted": [], "managed": []}, {}
        for number in range(5):
            rate = {}
            for label, variables in kinds[::-1 if number % 2 else 1]:
                if left() < 15:
                    continue
                r = run(name, variables, label, extra={"STEPS": dict(RATED, **MORE_RATED)[name], "REPEAT": "3"})
                rate[label] = sorted(r["rates"])[len(r["rates"]) // 2] if r["rates"] else 0
                launched[label] = list(r["launched"].values())
            say("pairs %s %d %s" % (name, number, " ".join("%s %.1f" % item for item in sorted(rate.items()))))
            for label in ratios if rate.get("plain") else ():
                if rate.get(label):
                    ratios[label].append(rate[label] / rate["plain"])
        for label, found in ratios.items():
            if found:
                say("pairs %s %s: %d ratios, median %.4f, from %.4f to %.4f; launched %s" % (
                    name, label, len(found), sorted(found)[len(found) // 2], min(found), max(found), launched.get(label)))


# Environments that change how CUDA finds its devices and code, and a server between it and the GPU.
def places():
    plain = run("sample", None, "plain", args=("50",))
    for label, extra in (("visible", {"CUDA_VISIBLE_DEVICES": "0"}), ("eager", {"CUDA_MODULE_LOADING": "EAGER"}),
                         ("lazy", {"CUDA_MODULE_LOADING": "LAZY"})):
        r = run("sample", {}, label, args=("50",), extra=extra)
        say("places %-8s rc %s %s launched %s known %s" % (
            label, r["rc"], "same" if r["hash"] and r["hash"] == plain["hash"] else r["hash"], list(r["launched"].values()), r["known"]))
    def beside_mps(pipe):
        r = run("sample", {}, "mps", args=("50",), extra={"CUDA_MPS_PIPE_DIRECTORY": pipe}, timeout=40)
        say("places %-8s rc %s %s launched %s known %s %s" % (
            "mps", r["rc"], "same" if r["hash"] and r["hash"] == plain["hash"] else r["hash"], list(r["launched"].values()), r["known"],
            (r["out"] + r["err"])[-100:] if r["rc"] else ""))
        r = run("sample", COUNTED, "mps counted", args=("50",), extra={"CUDA_MPS_PIPE_DIRECTORY": pipe}, timeout=40)
        say("places %-8s rc %s %s launched %s" % ("mps, 0", r["rc"], "same" if r["hash"] and r["hash"] == plain["hash"] else r["hash"],
                                                list(r["launched"].values())))

    with_mps(beside_mps)


# Call @work with the folder of an MPS server's pipes, and end the server.
def with_mps(work):
    pipe = tempfile.mkdtemp()
    mps = dict(os.environ, CUDA_MPS_PIPE_DIRECTORY=pipe, CUDA_MPS_LOG_DIRECTORY=pipe)
    try:
        subprocess.run(["nvidia-cuda-mps-control", "-d"], env=mps, timeout=20)
        work(pipe)
    except Exception as wrong:
        say("mps: %r" % wrong)
    finally:
        try:
            subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True, env=mps, timeout=20)
        except Exception:
            pass


def limit():
    r = run("torch_train", {"GVM_LIMIT": "200M"}, "limit")
    say("limit torch_train 200M rc %s %s refused %d" % (
        r["rc"], re.findall(r"OutOfMemoryError|out of memory", r["err"])[:1], r["log"].count("refused")))


# Ranges of a process on the host: without the shim, without a share, with one, with a lowered limit; allocations of
# unequal sizes without the shim and with a share. RESIDENT names the cases besides the one without the shim.
def resident():
    short, unequal = {"SHORT": "1"}, {"UNEQUAL": "1"}
    cases = {"plain": (None, short), "all": ({}, short), "1G": ({"GVM_RESIDENT": "1G"}, {}),
             "lowered": ({}, {"LOWER": os.path.join(TOOLS, "gvmctl")}), "plain2": (None, dict(short, **unequal)),
             "1G2": ({"GVM_RESIDENT": "1G"}, unequal)}
    asked = [c for c in cases if c.startswith("plain") or c in os.environ.get("RESIDENT", " ".join(cases)).split()]
    hashes = {}
    for label in asked:
        shim, extra = cases[label]
        r = run("resident", shim, "resident " + label, timeout=60, extra=extra)
        for line in re.findall(r"^(?:resident|\d+:).*", r["out"], re.M):
            say("resident %-8s %s" % (label, line))
        if shim is None:
            hashes["UNEQUAL" in extra] = r["hash"]
        say("resident %-8s rc %s %s moves %d to the host, %d to the GPU" % (
            label, r["rc"], "same" if r["hash"] and r["hash"] == hashes["UNEQUAL" in extra] else r["hash"],
            len(re.findall("go to the host", r["log"])), len(re.findall("go to the GPU", r["log"]))))


# A limit is lowered, and PyTorch's pool gives.
def pressure():
    work = tempfile.mkdtemp()
    root, path = os.path.join(work, "root"), os.path.join(work, "socket")
    package = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "python")
    daemon = subprocess.Popen([os.path.join(TOOLS, "gvmd"), "pressure", "--socket", path, "--root", root, "--period", "10ms"],
                              stdout=subprocess.PIPE, text=True)
    try:
        daemon.stdout.readline()
        extra = {"PYTHONPATH": os.environ.get("GVM_PYTHON", package), "GVM_PRESSURE_SOCKET": path,
                 "GVMCTL": os.path.join(TOOLS, "gvmctl")}
        done = together([(("pressure", {"GVM_SHIM_MANAGED": managed, "GVM_SHIM_DIR": root, "GVM_LIMIT": "8G"}),
                          dict(label="pressure", extra=extra, timeout=60)) for managed in "10"])
        for managed, r in zip("10", done):
            for line in re.findall(r"^pressure.*", r["out"], re.M):
                say("pressure managed %s %s" % (managed, line))
            say("pressure managed %s rc %s hash %s %s" % (managed, r["rc"], r["hash"], r["err"][-300:] if r["rc"] else ""))
    finally:
        daemon.terminate()
        say("pressure gvmd: %s" % daemon.communicate(timeout=20)[0].strip())


# Kernels of a process that have ended, by its control file.
def ended(root, pid):
    with open(os.path.join(root, str(pid), "0", "gcgroup.stat")) as file:
        return int(re.search(r"nr_ended_kernels: (\d+)", file.read()).group(1))


# Two applications that run side by side for @seconds, once they have begun: (name, process) of each. A folder @root has
# their control files.
def begin_two(root, seconds):
    begin = time.time() + 15
    children = []
    for name, batch in (("torch_train", "256"), ("torch_infer", "64")):
        env = dict(os.environ, LD_PRELOAD=SHIM, GVM_SHIM_DIR=root, GVM_SHIM_LOG=os.path.join(SCRATCH, name + ".running"),
                   BATCH=batch, START_AT=str(begin), SECONDS=str(seconds), **COUNTED)
        children.append((name, subprocess.Popen(command(name), env=env, cwd=PROGRAMS, stdin=subprocess.DEVNULL,
                                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)))
    time.sleep(max(0.0, begin + 1 - time.time()))
    return children


def set_file(root, child, file, value):
    subprocess.run([os.path.join(TOOLS, "gvmctl"), "set", str(child.pid), file, value, "--root", root],
                   check=True, timeout=20, stdout=subprocess.DEVNULL)


# What each has done in @seconds from half a second on.
def window(part, label, root, children, seconds):
    time.sleep(0.5)
    start, before = time.time(), [ended(root, child.pid) for _, child in children]
    time.sleep(seconds)
    taken, after = time.time() - start, [ended(root, child.pid) for _, child in children]
    say("%s %-13s %s" % (part, label, "  ".join("%s %.0f kernels/s" % (name, (a - b) / taken) for (name, _), a, b in
                                                zip(children, after, before))))


def end_two(part, children, pattern):
    for name, child in children:
        try:
            out = child.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            child.kill()
            out = child.communicate()[0]
        log = os.path.join(SCRATCH, name + ".running")
        text = open(log).read() if os.path.exists(log) else ""
        say("%s %s rc %s %s %s" % (part, name, child.returncode, re.findall(r"^hash \w+", out, re.M), pattern(text)))


# gvmctl changes the timeslices of two applications while they run: what each has done in each window.
def running():
    seconds = float(os.environ.get("TURN_SECONDS", "4"))
    cases = [("as begun", None), ("train 0.5 ms", ("512us", "131072us")), ("train 131 ms", ("131072us", "512us"))]
    root = tempfile.mkdtemp()
    children = begin_two(root, len(cases) * (seconds + 1) + 3)
    try:
        for label, slices in cases:
            for (_, child), us in zip(children, slices or ()):
                set_file(root, child, "compute.timeslice", us)
            window("running", label, root, children, seconds)
    finally:
        end_two("running", children, lambda text: re.findall(r"timeslice (\d+ us set and read back on \d+ of \d+)", text))


# gvmctl takes one of two applications off the GPU; then gvmd gives them turns by its policy timeshare.
def frozen():
    seconds = float(os.environ.get("TURN_SECONDS", "4"))
    root = tempfile.mkdtemp()
    children = begin_two(root, 6 * (seconds + 2) + 4)
    train, infer = (child for _, child in children)
    try:
        window("frozen", "none", root, children, seconds)
        for label, child in (("training", train), ("inference", infer)):
            set_file(root, child, "compute.freeze", "1")
            window("frozen", label, root, children, seconds)
            set_file(root, child, "compute.freeze", "0")
        for period, weights in (("50ms", (1, 1)), ("50ms", (4, 1)), ("10ms", (1, 4))):
            policy = os.path.join(SCRATCH, "policy.json")
            with open(policy, "w") as f:
                f.write('{"policy": "timeshare", "period": "%s", "weights": {"train": %d, "infer": %d}}' % (period, *weights))
            daemon = subprocess.Popen([os.path.join(TOOLS, "gvmd"), "run", policy, "--root", root, "--container",
                                       "train=%d" % train.pid, "--container", "infer=%d" % infer.pid, "--duration",
                                       "%ds" % (seconds + 1)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            window("frozen", "%s %d:%d" % (period, *weights), root, children, seconds)
            out = daemon.communicate(timeout=20)[0]
            say("frozen gvmd rc %s, %d writes, last: %s" % (daemon.returncode, len(out.splitlines()), out.splitlines()[-1:]))
    finally:
        end_two("frozen", children, lambda text: "%d freezes, %d thaws, other lines %s" % (
            len(re.findall("channels are frozen", text)), len(re.findall("channels are thawed", text)),
            re.findall(r"shim\[\d+\]: (.*cannot.*)", text)[:3]))


# Programs that are frozen and thawed again and again: a hash of what they computed, without the shim and so.
def thawed():
    for name in ("torch_train", "torch_graphs", "torch_streams", "triton_rows", "torch_infer"):
        plain = run(name, None, "plain", extra={"STEPS": "400"})
        root = tempfile.mkdtemp()
        done, freezes = threading.Event(), []

        def freeze_often():
            while not done.wait(0.02):
                # The first process makes the folder, and the last one removes it.
                for pid in os.listdir(root) if os.path.isdir(root) else ():
                    for value in ("1", "0"):
                        done.wait(0.03)
                        r = subprocess.run([os.path.join(TOOLS, "gvmctl"), "set", pid, "compute.freeze", value, "--root", root],
                                           timeout=20, capture_output=True)
                        freezes.append((value, r.returncode))

        thread = threading.Thread(target=freeze_often)
        thread.start()
        r = run(name, {"GVM_SHIM_DIR": root}, "frozen", extra={"STEPS": "400"})
        done.set()
        thread.join()
        hashes = [re.findall(r"^hash \w+", one["out"], re.M) for one in (plain, r)]
        say("thawed %-14s rc %s %s: %s %s; %d freezes and %d thaws held" % (
            name, plain["rc"], r["rc"], "same" if hashes[0] and hashes[0] == hashes[1] else "DIFFER", hashes,
            freezes.count(("1", 0)), freezes.count(("0", 0))))


# Memory without an address, and calls that managed memory answers in another way: without the shim, and with it.
def beyond():
    for label, shim in (("plain", None), ("managed", {"GVM_LIMIT": "1G"}), ("counted", dict(COUNTED, GVM_LIMIT="1G"))):
        r = run("beyond", shim, label)
        for line in r["out"].splitlines():
            say("beyond %-8s %s" % (label, line))
        say("beyond %-8s rc %s %s" % (label, r["rc"], re.findall(r"shim\[\d+\]: ((?:GPU 0: launched|a graph|cu\w+:).*)", r["log"])))


# Addresses of managed memory; exports beside threads that take addresses; what allocations cost, and many of them.
def ranges():
    for label, shim, what in (("driver", None, "ranges"), ("plain", None, "exports,costs,many"), ("managed", {}, "exports,costs,many")):
        for part in what.split(","):
            r = run("ranges", shim, label, args=(part,))
            for line in r["out"].splitlines():
                say("ranges %-8s %s" % (label, line))
            say("ranges %-8s %s rc %s %s" % (label, part, r["rc"], r["err"][-300:]))
    for label, shim in (("plain", None), ("managed", {})):
        r = run("ipc", shim, label, args=("outlive",))
        for line in r["out"].splitlines():
            say("ranges %-8s %s" % (label, line))
        say("ranges %-8s outlive rc %s %s" % (label, r["rc"], re.findall(r"cuIpc\w+: .*", r["log"])))


# What an application hears of memory pools: answers that differ from those without the shim, and what is managed.
def pools():
    plain = run("pools", None, "plain")
    for label, shim in (("managed", {}), ("counted", COUNTED)):
        r = run("pools", shim, label)
        differ = [pair for pair in itertools.zip_longest(plain["out"].splitlines(), r["out"].splitlines())
                  if pair[0] != pair[1] and not (pair[0] or "").startswith("cpu ")]
        say("pools %s rc %s %s, %d answers, %d differ%s; the CPU reads %s" % (
            label, plain["rc"], r["rc"], len(plain["out"].splitlines()), len(differ), "".join("; '%s' is '%s'" % pair for pair in differ),
            " ".join(re.findall(r"^cpu (.* [01])$", r["out"], re.M))))


VARIANTS = (("plain", None), ("managed", {}), ("counted", COUNTED))


# Each call in each state of a process: the table of each variant in OUT, and what differs.
def states():
    tables = {}
    for label, shim in VARIANTS:
        tables[label] = run("states", shim, label, timeout=240)["out"]
        with open(os.path.join(OUT, "states-%s.txt" % label), "w") as f:
            f.write(tables[label])
    for label in ("managed", "counted"):
        pairs = [p for p in itertools.zip_longest(tables["plain"].splitlines(), tables[label].splitlines()) if p[0] != p[1]]
        say("states %s: %d answers, %d differ" % (label, len(tables[label].splitlines()), len(pairs)))
        for pair in pairs:
            say("states %s: '%s' is '%s'" % (label, *pair))


# Programs that share memory between processes, in each variant. EXTRA is for their environment.
def compare(jobs, extra=None):
    done = {(name, args, label): run(name, shim, label, args=args, extra=dict(more, **(extra or {})))
            for name, args, more in jobs for label, shim in VARIANTS}
    for (name, args, label), r in done.items():
        same = [line for line in r["out"].splitlines() if not line.startswith(("1024 bytes", "outlive: without"))] == [
            line for line in done[(name, args, "plain")]["out"].splitlines() if not line.startswith(("1024 bytes", "outlive: without"))]
        say("%s %-8s rc %s %s, %d exports; %s" % (" ".join((name,) + args), label, r["rc"], "same" if same else "DIFFERS",
                                                 r["log"].count("are exported"), " | ".join(r["out"].splitlines())))


def shared():
    with_mps(lambda pipe: compare([("ipc", (), {}), ("ipc", ("outlive",), {}), ("torch_ipc", (), {})], {"CUDA_MPS_PIPE_DIRECTORY": pipe}))


def cards():
    compare([("cards", (), {})] + [("nccl_ranks", (), {"NCCL_CUMEM_ENABLE": cumem}) for cumem in "01"])


def about():
    for c in (["nvidia-smi", "--query-gpu=name,driver_version,memory.total,memory.used", "--format=csv,noheader"],
              ["uname", "-r"], ["id", "-u"], ["sh", "-c", "ldd --version | head -1; nvcc --version | tail -2; ls -la /dev/nvidia* | head"],
              ["python3", "-c", "import torch,triton,jax,cupy;print(torch.__version__,triton.__version__,jax.__version__,cupy.__version__)"]):
        try:
            done = subprocess.run(c, capture_output=True, text=True, timeout=60)
            say("about " + (done.stdout + done.stderr).strip().replace("\n", " | "))
        except Exception as wrong:
            say("about %s: %s" % (c, wrong))
    say("about libraries %s cupti %s" % (LIBRARIES, find("libcupti.so*")))


os.makedirs(OUT, exist_ok=True)
about()
for part in PARTS:
    if left() < 15:
        say("# no time for " + part)
        continue
    start = time.time()
    try:
        {"same": same, "counts": counts, "turns": turns, "cycles": cycles, "rates": rates, "limit": limit,
         "places": places, "resident": resident, "pressure": pressure, "calls": calls,
         "pairs": pairs, "pools": pools, "running": running, "beyond": beyond, "ranges": ranges,
         "states": states, "shared": shared, "cards": cards, "frozen": frozen, "thawed": thawed}[part]()
    except Exception as wrong:
        say("# %s failed: %r" % (part, wrong))
    say("# %s took %.0f s" % (part, time.time() - start))
