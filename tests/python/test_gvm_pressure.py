# SPDX-License-Identifier: MIT OR GPL-2.0
"""The Python package gvm_pressure. Its sources are sockets and pipes of the test; torch and vLLM are stand-ins
with the calls that the package makes. With VLLM_SOURCE set, test_vllm_source.py has vLLM's own classes."""
import asyncio
import logging
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

import gvm_pressure
from gvm_pressure import source, torch_pool, vllm_plugin

WAIT = 30  # seconds until a test gives up; nothing waits so long


class Server:
    """A socket that stands for gvmd's."""

    def __init__(self, test):
        self.folder = tempfile.TemporaryDirectory()
        test.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "s")
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(self.path)
        self.listening.listen()
        test.addCleanup(self.listening.close)

    def accept(self, text="gvm-pressure 1\n"):
        peer, _ = self.listening.accept()
        peer.sendall(text.encode())
        return peer

    def connected(self, test, gpu=0):
        """A source, and the server's end of it."""
        heard = source.SocketSource(gpu, self.path)
        test.addCleanup(heard.close)
        peer = self.accept("")
        test.addCleanup(peer.close)
        return heard, peer


def read_all(heard):
    assert source.wait(heard, WAIT)
    return heard.read()


class SocketSourceTest(unittest.TestCase):
    def test_a_line_is_an_event_however_it_is_cut(self):
        heard, peer = Server(self).connected(self)
        events = []
        for byte in b"gvm-pressure 1\npressure pid=7 gpu=0 target=4096 sequence=3\n":
            peer.sendall(bytes([byte]))
            events += read_all(heard)
        self.assertEqual(events, [gvm_pressure.Event(0, 4096, 3, 7)])

    def test_other_gpus_and_unknown_lines_are_left_out(self):
        heard, peer = Server(self).connected(self)
        peer.sendall(b"gvm-pressure 1\npressure pid=7 gpu=1 target=1 sequence=1\nend pid=7 gpu=0\n\n")
        self.assertEqual(read_all(heard), [])
        everything, peer = Server(self).connected(self, gpu=None)
        peer.sendall(b"gvm-pressure 1\npressure pid=7 gpu=1 target=1 sequence=1 new=5\n")
        self.assertEqual([e.gpu for e in read_all(everything)], [1])

    def test_wrong_formats_are_named(self):
        for text, named in ((b"hello\n", "no socket of gvmd"), (b"gvm-pressure 2\n", "no socket of gvmd"),
                            (b"gvm-pressure 1\npressure gpu=0\n", "not understood"),
                            (b"gvm-pressure 1\npressure gpu=0 target=x\n", "not understood"),
                            (b"x" * 5000, "without an end")):
            heard, peer = Server(self).connected(self)
            peer.sendall(text)
            with self.assertRaisesRegex(ValueError, named):
                read_all(heard)

    def test_the_end_of_the_daemon_is_the_end(self):
        heard, peer = Server(self).connected(self)
        self.assertEqual(heard.read(), [])
        peer.close()
        self.assertIsNone(read_all(heard))

    def test_no_daemon_is_an_error(self):
        with self.assertRaises(OSError):
            source.SocketSource(0, "/nowhere/s")

    def test_a_daemon_that_takes_no_connections_is_an_error(self):
        server = Server(self)
        server.listening.listen(0)
        waiting = socket.socket(socket.AF_UNIX)
        self.addCleanup(waiting.close)
        waiting.connect(server.path)
        with mock.patch.object(source, "_CONNECT_SECONDS", 0.01, create=True), self.assertRaises(OSError):
            source.SocketSource(0, server.path)


class DeviceSourceTest(unittest.TestCase):
    def test_records_of_the_module_are_events(self):
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        with mock.patch.object(source.fcntl, "ioctl", return_value=reading) as ioctl:
            heard = source.DeviceSource(3, "/dev/null")
        # kernel-port/linux/gvm_ioctl.h, as the C compiler computes it on x86-64.
        self.assertEqual(ioctl.call_args[0][1:], (0x40084750, struct.pack("=II", 3, os.O_CLOEXEC | os.O_NONBLOCK)))
        self.assertEqual(heard.read(), [])
        os.write(writing, struct.pack("=QQ", 1 << 40, 9))
        self.assertEqual(heard.read(), [gvm_pressure.Event(3, 1 << 40, 9, os.getpid())])
        os.write(writing, b"half")
        with self.assertRaisesRegex(ValueError, "4 bytes"):
            heard.read()
        os.close(writing)
        self.assertIsNone(heard.read())
        heard.close()

    # Of an immutable argument Python hands back the argument, and not what the call returned. So a real call that returns
    # a descriptor stands in: NS_GET_USERNS.
    @unittest.skipUnless(os.path.exists("/proc/self/ns/net"), "no namespaces here")
    def test_the_descriptor_is_what_the_call_returns(self):
        with mock.patch.object(source, "_PRESSURE_OPEN", 0xb701):
            heard = source.DeviceSource(0, "/proc/self/ns/net")
        self.assertEqual(os.readlink("/proc/self/fd/%d" % heard.fileno()), os.readlink("/proc/self/ns/user"))
        heard.close()

    def test_a_module_that_does_not_know_the_process_leads_to_the_socket(self):
        server = Server(self)
        with mock.patch.object(source.fcntl, "ioctl", side_effect=ProcessLookupError(3, "No such process")):
            heard = gvm_pressure.open_source(0, server.path, device="/dev/null")
            self.assertIsInstance(heard, gvm_pressure.SocketSource)
            heard.close()
            with self.assertRaisesRegex(ProcessLookupError, "No such process"):
                gvm_pressure.open_source(0, "/nowhere/s", device="/dev/null")


class ListenerTest(unittest.TestCase):
    def listen(self, server, give):
        listener = gvm_pressure.Listener(give, open_source=lambda gpu: source.SocketSource(gpu, server.path), retry=0.01)
        self.addCleanup(listener.stop)
        return listener

    def test_the_newest_of_several_events_is_given_and_counted(self):
        server, heard, done = Server(self), [], threading.Event()

        def give(event):
            heard.append(event)
            done.set()
            return 100

        listener = self.listen(server, give)
        peer = server.accept("gvm-pressure 1\npressure pid=7 gpu=0 target=5 sequence=1\n"
                             "pressure pid=7 gpu=0 target=9 sequence=2\n")
        self.assertTrue(done.wait(WAIT))
        listener.stop()
        self.assertEqual([e.sequence for e in heard], [2])
        self.assertEqual((listener.events, listener.given_bytes), (1, 100))
        peer.close()

    def test_events_of_two_gpus_are_both_given(self):
        server, heard, done = Server(self), [], threading.Event()

        def give(event):
            heard.append((event.gpu, event.target_bytes))
            if len(heard) == 2:
                done.set()

        listener = gvm_pressure.Listener(give, gpu=None, open_source=lambda gpu: source.SocketSource(gpu, server.path))
        self.addCleanup(listener.stop)
        peer = server.accept("gvm-pressure 1\npressure pid=7 gpu=0 target=5 sequence=1\n"
                             "pressure pid=7 gpu=1 target=9 sequence=1\n")
        self.assertTrue(done.wait(5))
        self.assertEqual(heard, [(0, 5), (1, 9)])
        peer.close()

    def test_give_may_stop_the_listener(self):
        before = len(os.listdir("/proc/self/fd"))
        server, ready = Server(self), threading.Event()
        listener = self.listen(server, lambda event: ready.wait(WAIT) and listener.stop())
        peer = server.accept("gvm-pressure 1\npressure pid=7 gpu=0 target=5 sequence=1\n")
        ready.set()
        listener._thread.join(WAIT)
        self.assertFalse(listener._thread.is_alive())
        peer.close()
        self.assertEqual(len(os.listdir("/proc/self/fd")), before + 1)  # the server's

    def test_it_outlives_the_application_s_errors_and_the_daemon(self):
        server, calls, done = Server(self), [], threading.Event()

        def give(event):
            calls.append(event.sequence)
            if len(calls) == 2:
                done.set()
            raise RuntimeError("no memory for that")

        with self.assertLogs("gvm_pressure", "ERROR") as logs:
            listener = self.listen(server, give)
            for _ in range(2):
                peer = server.accept("gvm-pressure 1\npressure pid=7 gpu=0 target=5 sequence=1\n")
                while source.select.select([peer], [], [], 0)[0] == [] and len(calls) == _:
                    pass
                peer.close()
            self.assertTrue(done.wait(WAIT))
            listener.stop()
        self.assertIn("could not give memory", logs.output[0])
        self.assertEqual(calls, [1, 1])

    def test_an_answer_that_is_no_number_is_an_error_of_the_application(self):
        server, calls, done = Server(self), [], threading.Event()

        def give(event):
            calls.append(event.sequence)
            if len(calls) == 2:
                done.set()
            return "much"

        with self.assertLogs("gvm_pressure", "ERROR"):
            listener = self.listen(server, give)
            peer = server.accept("gvm-pressure 1\npressure pid=7 gpu=0 target=5 sequence=1\n")
            while not listener.events and listener._thread.is_alive():
                pass
            peer.sendall(b"pressure pid=7 gpu=0 target=5 sequence=2\n")
            self.assertTrue(done.wait(WAIT))
            listener.stop()
        peer.close()
        self.assertEqual(listener.given_bytes, 0)

    def forked(self, what):
        """A child of fork that does @what, and then lives until the pipe is closed. Returns its number, and the pipe."""
        read, write = os.pipe()
        child = os.fork()
        if not child:
            os.close(write)
            what()
            os.read(read, 1)
            os._exit(0)
        os.close(read)
        return child, write

    def test_a_child_of_fork_does_not_keep_the_thread_from_its_end(self):
        listener = gvm_pressure.Listener(print, open_source=mock.Mock(side_effect=OSError(2, "no")))
        child, pipe = self.forked(lambda: None)
        ender = threading.Thread(target=listener.stop, daemon=True)
        ender.start()
        ender.join(WAIT)
        ended = not ender.is_alive()
        os.close(pipe)
        os.waitpid(child, 0)
        self.assertTrue(ended)

    def test_a_child_of_fork_does_not_stop_its_parent_s_listener(self):
        server = Server(self)
        done = threading.Event()
        listener = self.listen(server, lambda event: done.set())
        peer = server.accept("gvm-pressure 1\n")
        child, pipe = self.forked(listener.stop)
        os.close(pipe)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        peer.sendall(b"pressure pid=7 gpu=0 target=5 sequence=1\n")
        self.assertTrue(done.wait(WAIT))
        self.assertTrue(listener._thread.is_alive())
        peer.close()

    def test_a_missing_daemon_is_said_once_and_tried_again(self):
        tries, done = [], threading.Event()

        def nothing(gpu):
            tries.append(gpu)
            if len(tries) == 5:
                done.set()
            raise FileNotFoundError(2, "No such file or directory")

        with self.assertLogs("gvm_pressure", "INFO") as logs:
            listener = gvm_pressure.Listener(print, open_source=nothing, retry=0.001)
            self.assertTrue(done.wait(WAIT))
            listener.stop()
        self.assertEqual(len(logs.output), 1)

    def test_stop_ends_the_thread_and_leaves_no_descriptor(self):
        before = len(os.listdir("/proc/self/fd"))
        server = Server(self)
        listener = self.listen(server, print)
        server.accept().close()
        listener.stop()
        listener.stop()
        self.assertFalse([t for t in threading.enumerate() if t.name == "gvm-pressure"])
        self.assertEqual(len(os.listdir("/proc/self/fd")), before + 1)  # the server's


class FakeTorch:
    """The calls of PyTorch that the package makes, over segments (device, size, allocated)."""

    def __init__(self, segments, initialized=True):
        self.segments = segments
        self.initialized = initialized
        self.cuda = self

    def is_available(self):
        return True

    def is_initialized(self):
        return self.initialized

    def memory_snapshot(self):
        return [dict(device=d, total_size=s, allocated_size=a) for d, s, a in self.segments]

    def memory_reserved(self, device):
        return sum(s for d, s, _ in self.segments if d == device)

    def empty_cache(self):
        self.segments = [s for s in self.segments if s[2]]


class PoolTest(unittest.TestCase):
    def test_free_segments_are_given_and_the_others_kept(self):
        torch = FakeTorch([(0, 20, 0), (0, 30, 1), (1, 50, 0)])
        pool = torch_pool.Pool(0, torch)
        self.assertEqual(pool.idle_bytes(), 20)
        self.assertEqual(pool.give(), 20)
        self.assertEqual(pool.give(), 0)

    def test_a_program_gives_at_its_own_step(self):
        pool = torch_pool.Pool(0, FakeTorch([(0, 20, 0)]))
        self.assertEqual(pool.at_step(), 0)
        self.assertEqual(pool.ask(None), 0)
        self.assertEqual(pool.at_step(), 20)
        self.assertEqual(pool.at_step(), 0)

    def test_cuda_is_not_started_for_it(self):
        self.assertEqual(torch_pool.Pool(0, FakeTorch([(0, 20, 0)], initialized=False)).give(), 0)

    def test_without_pytorch_there_is_a_line_and_no_error(self):
        with mock.patch.dict(sys.modules, {"torch": None}), self.assertLogs("gvm_pressure", "WARNING") as logs:
            self.assertIsNone(torch_pool.listen())
        self.assertEqual(logs.output, ["WARNING:gvm_pressure:there is no PyTorch: no pool is emptied"])
        fake = types.SimpleNamespace(cuda=types.SimpleNamespace(is_available=lambda: False))
        with mock.patch.dict(sys.modules, {"torch": fake}), self.assertLogs("gvm_pressure", "WARNING") as logs:
            self.assertEqual(torch_pool.Pool().give(), 0)
        self.assertEqual(logs.output, ["WARNING:gvm_pressure:PyTorch has no GPU: no pool is emptied"])


class FakeBlocks:
    """vLLM's BlockPool: block 0 is never used."""

    def __init__(self, count):
        self.num_gpu_blocks = count
        self.free = list(range(1, count))

    def get_num_free_blocks(self):
        return len(self.free)

    def get_new_blocks(self, count):
        taken, self.free = self.free[:count], self.free[count:]
        return taken

    def free_blocks(self, blocks):
        self.free += blocks


class BalloonTest(unittest.TestCase):
    def setUp(self):
        self.now = 0
        self.pool = FakeBlocks(101)
        self.balloon = vllm_plugin.Balloon(self.pool, 1000, keep=20, hold=10, clock=lambda: self.now)

    def test_blocks_are_taken_by_whole_ones_and_requests_keep_theirs(self):
        self.assertEqual(self.balloon.take(1001), 2000)
        self.assertEqual(self.balloon.take(10**9), 78000)
        self.assertEqual(self.balloon.take(1), 0)
        self.assertEqual(self.pool.get_num_free_blocks(), 20)

    def test_blocks_in_use_are_not_taken(self):
        self.pool.get_new_blocks(95)
        self.assertEqual(self.balloon.take(10**9), 5000)

    def test_it_shrinks_by_half_while_there_is_no_pressure(self):
        self.balloon.take(7000)
        left = []
        for self.now in range(0, 60, 5):
            self.balloon.ease()
            left.append(len(self.balloon.blocks))
        self.assertEqual(left, [7, 7, 3, 3, 1, 1, 0, 0, 0, 0, 0, 0])
        self.assertEqual(sorted(self.pool.free), list(range(1, 101)))

    def test_pressure_puts_the_ease_off(self):
        self.balloon.take(7000)
        self.now = 9
        self.balloon.take(1000)
        self.now = 18
        self.balloon.ease()
        self.assertEqual(len(self.balloon.blocks), 8)

    def test_a_block_that_is_larger_than_the_cache_leaves_the_balloon_empty(self):
        self.assertEqual(vllm_plugin.Balloon(FakeBlocks(5), 1000, keep=9).take(10**9), 0)


class PluginTest(unittest.TestCase):
    def test_the_mailbox_keeps_the_newest_event(self):
        box = vllm_plugin.Mailbox()
        self.assertEqual(box.take(), 0)
        for target in (5, 7):
            box.put(gvm_pressure.Event(0, target, 1, 1))
        self.assertEqual((box.take(), box.take()), (7, 0))

    def test_the_mailbox_has_the_most_of_several_workers(self):
        # A block takes memory of each worker, so the largest target is the one to meet.
        box = vllm_plugin.Mailbox()
        for pid, target in ((1, 9), (2, 5), (1, 7), (3, 1)):
            box.put(gvm_pressure.Event(0, target, 1, pid))
        self.assertEqual((box.take(), box.take()), (7, 0))

    def test_a_wrong_hold_is_named_and_ignored(self):
        for text in ("x", "0", "-1", "nan", "inf"):
            with mock.patch.dict(os.environ, {"GVM_PRESSURE_HOLD": text}), self.assertLogs("gvm_pressure") as logs:
                self.assertEqual(vllm_plugin.hold_seconds(), 10)
            self.assertIn("GVM_PRESSURE_HOLD=%s is ignored" % text, logs.output[0])
        with mock.patch.dict(os.environ, {"GVM_PRESSURE_HOLD": "2.5"}):
            self.assertEqual(vllm_plugin.hold_seconds(), 2.5)

    def test_the_entry_point_is_vllm_s(self):
        with open(os.path.join(os.path.dirname(gvm_pressure.__file__), "..", "pyproject.toml")) as file:
            text = file.read()
        self.assertIn('[project.entry-points."vllm.general_plugins"]\ngvm_pressure = "gvm_pressure.vllm_plugin:register"', text)
        with mock.patch.object(vllm_plugin, "enabled", False):
            extension = vllm_plugin.WorkerExtension()
            extension.device = types.SimpleNamespace(index=0)
            self.assertEqual(extension.gvm_give(), 0)
            vllm_plugin.register()
            vllm_plugin.register()
            with mock.patch.object(vllm_plugin, "Pool", lambda device: torch_pool.Pool(device, FakeTorch([(0, 20, 0)]))):
                self.assertEqual(extension.gvm_give(), 20)


class FakeEngine:
    def __init__(self):
        self.calls = []

    async def sleep(self, level):
        self.calls.append("sleep %d" % level)

    async def wake_up(self):
        self.calls.append("wake_up")

    async def generate(self, prompt):
        for token in prompt.split():
            self.calls.append(token)
            yield token
            await asyncio.sleep(0)


class SleepTest(unittest.TestCase):
    def sleeper(self, engine):
        def nothing(gpu):
            raise OSError("none in this test")

        sleeper = vllm_plugin.SleepWhenIdle(engine, least_bytes=100, open_source=nothing)
        self.addCleanup(sleeper.listener.stop)
        return sleeper

    def test_it_sleeps_when_idle_and_wakes_for_a_request(self):
        engine = FakeEngine()

        async def story():
            sleeper = self.sleeper(engine)
            await sleeper._pressure()
            await sleeper._pressure()
            self.assertEqual([t async for t in sleeper.generate("a b")], ["a", "b"])
            self.assertEqual(sleeper.sleeps, 1)

        asyncio.run(story())
        self.assertEqual(engine.calls, ["sleep 1", "wake_up", "a", "b"])

    def test_pressure_during_requests_puts_it_to_sleep_after_the_last_one(self):
        engine = FakeEngine()

        async def story():
            sleeper = self.sleeper(engine)

            async def use(prompt):
                return [t async for t in sleeper.generate(prompt)]

            first, second = asyncio.create_task(use("a b c")), asyncio.create_task(use("d e f g h"))
            await asyncio.sleep(0)
            await sleeper._pressure()
            self.assertNotIn("sleep 1", engine.calls)
            await first
            self.assertNotIn("sleep 1", engine.calls)
            await second

        asyncio.run(story())
        self.assertEqual(engine.calls[-1], "sleep 1")
        self.assertEqual(engine.calls.count("sleep 1"), 1)

    def test_a_sleep_that_fails_is_logged_and_harms_no_request(self):
        engine = FakeEngine()

        async def fail(level):
            raise RuntimeError("it cannot sleep")

        engine.sleep = fail

        async def story():
            sleeper = self.sleeper(engine)
            sleeper._wanted = True
            with self.assertLogs("gvm_pressure", "ERROR") as logs:
                self.assertEqual([t async for t in sleeper.generate("a b")], ["a", "b"])
            self.assertIn("it cannot sleep", logs.output[0])
            self.assertEqual([t async for t in sleeper.generate("c")], ["c"])  # not tried again
            self.assertEqual(sleeper.sleeps, 0)

        asyncio.run(story())

    def test_an_event_reaches_the_loop_if_it_is_worth_a_sleep(self):
        engine = FakeEngine()

        async def story():
            sleeper = self.sleeper(engine)
            for target in (99, 100):
                thread = threading.Thread(target=sleeper._ask, args=(gvm_pressure.Event(0, target, 1, 1),))
                thread.start()
                while thread.is_alive():
                    await asyncio.sleep(0)
                for _ in range(20):
                    await asyncio.sleep(0)
                self.assertEqual(sleeper.sleeps, int(target == 100))

        asyncio.run(story())


class Program(unittest.TestCase):
    """python3 -m gvm_pressure, as a new user meets it."""

    def run_it(self, *words, path="/nowhere/s"):
        ran = subprocess.run([sys.executable, "-m", "gvm_pressure", *words], capture_output=True, text=True,
                             env={**os.environ, "GVM_PRESSURE_SOCKET": path}, timeout=WAIT, check=False)
        return ran.returncode, ran.stdout, ran.stderr

    def test_help_and_version(self):
        code, out, _ = self.run_it("--help")
        self.assertEqual(code, 0)
        self.assertIn("usage: python3 -m gvm_pressure [GPU]", out)
        code, out, _ = self.run_it("--version")
        self.assertEqual(code, 0)
        self.assertTrue(out.startswith("gvm_pressure "))

    def test_mistakes_are_a_line(self):
        self.assertEqual(self.run_it("x"), (2, "", "usage: python3 -m gvm_pressure [GPU]; --help\n"))

    @unittest.skipIf(os.path.exists(source.DEVICE), "gvm.ko is loaded")
    def test_a_gpu_number_beyond_all_is_a_line(self):
        with self.assertRaises(ValueError):
            source.DeviceSource(1 << 40, "/dev/null")

    def test_nothing_to_hear_is_said_with_the_path(self):
        code, _, err = self.run_it()
        self.assertEqual(code, 1)
        self.assertEqual(err, "gvm_pressure: neither gvm.ko nor gvmd pressure is here: "
                              "[Errno 2] No such file or directory: '/nowhere/s'\n")


if __name__ == "__main__":
    logging.getLogger("gvm_pressure").propagate = True
    unittest.main()
