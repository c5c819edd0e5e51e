# SPDX-License-Identifier: MIT OR GPL-2.0
"""The vLLM plug-in against vLLM's own source: its block pool is run, its scheduler is subclassed, the calls of its
engine and the name of its plug-in group are read. What vLLM imports besides and a host lacks (PyTorch and others) is
a stand-in. VLLM_SOURCE is the folder with vllm/ in it. Without it the test is skipped (77)."""
import ast
import importlib
import importlib.machinery
import os
import sys
import types
import unittest
from unittest import mock

SOURCE = os.environ.get("VLLM_SOURCE", "")
if not os.path.isdir(os.path.join(SOURCE, "vllm")):
    print("VLLM_SOURCE is not set: vLLM's source is not looked at")
    sys.exit(77)

WANTED = ("vllm.v1.core.block_pool", "vllm.v1.core.kv_cache_utils", "vllm.v1.core.sched.scheduler",
          "vllm.v1.core.sched.interface", "vllm.v1.core.sched.async_scheduler")


class Stand(types.ModuleType):
    """A module of which every name is a class that can be called, subclassed and asked for attributes."""

    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (mock.MagicMock,), {"__class_getitem__": classmethod(lambda cls, item: cls)})
        setattr(self, name, made)
        return made


class Finder:
    """Stands in for all that is not among WANTED and their packages, nor of Python itself."""

    @staticmethod
    def real(name):
        return any(w == name or w.startswith(name + ".") for w in WANTED)

    def find_spec(self, name, path=None, target=None):
        if name == "gvm_pressure" or name.startswith("gvm_pressure.") or self.real(name):
            return None
        if name.split(".")[0] in sys.stdlib_module_names:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return Stand(spec.name)

    def exec_module(self, module):
        pass


def package(name, folder):
    module = types.ModuleType(name)
    module.__path__ = [folder]
    sys.modules[name] = module


for packet in ("vllm", "vllm.v1", "vllm.v1.core", "vllm.v1.core.sched"):
    package(packet, os.path.join(SOURCE, *packet.split(".")))
sys.meta_path.insert(0, Finder())
from vllm.v1.core import block_pool  # noqa: E402
from vllm.v1.core.sched import scheduler as vllm_scheduler  # noqa: E402

from gvm_pressure import vllm_plugin  # noqa: E402
from gvm_pressure.source import Event  # noqa: E402

block_pool.logger = mock.MagicMock()  # vLLM's own is a stand-in with another shape


def tree(path):
    with open(os.path.join(SOURCE, "vllm", path), encoding="utf-8") as file:
        return ast.parse(file.read())


def methods(path, name):
    """Methods of a class in a file of vLLM, as AST nodes by name."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ClassDef) and node.name == name:
            return {n.name: n for n in node.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
    return {}


def arguments(node):
    return [a.arg for a in node.args.args + node.args.kwonlyargs]


def new_pool():
    """A pool of a hundred blocks besides the null block. Since 0.13 it asks for one argument more."""
    more = {"hash_block_size": 16} if "hash_block_size" in block_pool.BlockPool.__init__.__code__.co_varnames else {}
    return block_pool.BlockPool(101, False, **more)


def pressure(target_bytes):
    return Event(pid=1, gpu=0, target_bytes=target_bytes, sequence=1)


class BlockPoolTest(unittest.TestCase):
    def setUp(self):
        self.now = 0
        self.pool = new_pool()
        self.balloon = vllm_plugin.Balloon(self.pool, 1000, keep=20, hold=10, clock=lambda: self.now)

    def test_vllm_s_own_pool_gives_blocks_and_gets_them_back(self):
        self.assertEqual(self.balloon.take(10**9), 80000)
        self.assertEqual(self.pool.get_num_free_blocks(), 20)
        of_requests = self.pool.get_new_blocks(20)
        with self.assertRaises(ValueError):
            self.pool.get_new_blocks(1)
        self.assertEqual(self.balloon.take(1000), 0)
        self.pool.free_blocks(of_requests)
        for self.now in range(10, 100, 10):
            self.balloon.ease()
        self.assertEqual(self.pool.get_num_free_blocks(), 100)
        self.assertEqual(len({b.block_id for b in self.pool.get_new_blocks(100)}), 100)

    def test_the_prefix_cache_is_reset_once_the_balloon_is_empty(self):
        self.balloon.take(5000)
        self.assertFalse(self.pool.reset_prefix_cache())
        self.balloon.release(len(self.balloon.blocks))
        self.assertTrue(self.pool.reset_prefix_cache())


class SchedulerTest(unittest.TestCase):
    def test_the_balloon_stands_in_vllm_s_scheduler(self):
        from gvm_pressure import vllm_scheduler as ours

        self.stands(ours, False, ours.PressureScheduler)

    def test_the_balloon_stands_in_vllm_s_asynchronous_scheduler(self):
        from gvm_pressure import vllm_scheduler as ours

        there = os.path.exists(os.path.join(SOURCE, "vllm/v1/core/sched/async_scheduler.py"))
        self.assertEqual(ours.AsyncScheduler is not None, there)
        if there:
            self.assertTrue(issubclass(ours.AsyncPressureScheduler, ours.AsyncScheduler))
        self.stands(ours, True, ours.AsyncPressureScheduler if there else ours.PressureScheduler)

    def stands(self, ours, asynchronous, kind):
        """The scheduler that vLLM gets is of this kind, and has a balloon."""
        self.assertTrue(issubclass(ours.PressureScheduler, vllm_scheduler.Scheduler))
        config = types.SimpleNamespace(scheduler_config=types.SimpleNamespace(async_scheduling=asynchronous))
        calls = []

        def init(self, vllm_config, kv_cache_config, structured_output_manager, **rest):
            self.max_model_len, self.block_size, self.num_spec_tokens = 160, 16, 0
            self.parallel_config = types.SimpleNamespace(pipeline_parallel_size=1)
            self.kv_cache_manager = types.SimpleNamespace(block_pool=new_pool())

        kv = types.SimpleNamespace(kv_cache_groups=[1], num_blocks=101,
                                   kv_cache_tensors=[types.SimpleNamespace(size=101 * 3000), types.SimpleNamespace(size=101 * 1000)])
        base = vllm_scheduler.Scheduler
        with mock.patch.object(base, "__init__", init), mock.patch.object(base, "schedule", lambda self: calls.append(
                self.kv_cache_manager.block_pool.get_num_free_blocks())), \
                mock.patch.object(base, "reset_prefix_cache", lambda self: self.kv_cache_manager.block_pool.reset_prefix_cache()), \
                mock.patch.object(base, "shutdown", lambda self: calls.append("shutdown")):
            # As vLLM's engine core calls it.
            made = ours.PressureScheduler(vllm_config=config, kv_cache_config=kv, structured_output_manager=None,
                                          include_finished_set=False, log_stats=True)
            self.assertIs(type(made), kind)
            self.assertIsNone(made.gvm_listener)  # the plug-in was not loaded
            made.schedule()
            made.gvm_mailbox.put(pressure(8001))
            made.schedule()
            made.schedule()
            made.gvm_mailbox.put(pressure(10**9))
            made.schedule()
            self.assertTrue(made.reset_prefix_cache())
            made.schedule()
            made.shutdown()
        self.assertEqual(calls, [100, 97, 97, 10, 100, "shutdown"])

    def test_the_engine_core_passes_what_we_take(self):
        init = methods("v1/core/sched/scheduler.py", "Scheduler")["__init__"]
        self.assertEqual(arguments(init)[1:3], ["vllm_config", "kv_cache_config"])
        text = ast.dump(init)
        for name in ("max_model_len", "block_size", "kv_cache_manager"):
            self.assertIn("attr='%s'" % name, text)
        self.assertIn("scheduler_cls", ast.dump(tree("v1/engine/core.py")))
        self.assertIn("block_pool", ast.dump(methods("v1/core/kv_cache_manager.py", "KVCacheManager")["__init__"]))
        fields = ast.dump(tree("v1/kv_cache_interface.py"))
        for name in ("kv_cache_tensors", "num_blocks", "kv_cache_groups", "size"):
            self.assertIn("id='%s'" % name, fields)


class EngineTest(unittest.TestCase):
    def test_the_engine_sleeps_wakes_and_generates(self):
        engine = methods("v1/engine/async_llm.py", "AsyncLLM")
        self.assertEqual(arguments(engine["sleep"])[:2], ["self", "level"])
        for name in ("sleep", "wake_up", "collective_rpc", "generate"):
            self.assertIsInstance(engine[name], ast.AsyncFunctionDef)
        wake = engine["wake_up"]
        self.assertEqual(len(arguments(wake)) - len(wake.args.defaults), 1)  # all but self have defaults

    def test_workers_take_an_extension_and_have_a_device(self):
        # Until 0.10 the configuration was one file.
        files = [f for f in ("config/parallel.py", "config/__init__.py", "config.py")
                 if os.path.exists(os.path.join(SOURCE, "vllm", f))]
        self.assertIn("'worker_extension_cls'", ast.dump(tree(files[0])))
        self.assertIn("attr='device'", ast.dump(tree("v1/worker/gpu_worker.py")))
        ours = {n for n in dir(vllm_plugin.WorkerExtension) if not n.startswith("__")}
        self.assertFalse(ours & set(methods("v1/worker/gpu_worker.py", "Worker")))

    def test_the_group_of_plug_ins_is_vllm_s(self):
        self.assertIn("'vllm.general_plugins'", ast.dump(tree("plugins/__init__.py")))


if __name__ == "__main__":
    unittest.main()
