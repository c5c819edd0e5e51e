#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""What a step of vLLM costs its host beside launching kernels.

    vllm_host.py SOURCE >RESULT

SOURCE is a folder with the package of vLLM 0.10.1, as its release has it; nothing of it is built or
installed. The scheduler and the model runner of the V1 engine run as they are: schedule(),
execute_model() and update_from_output(). The GPU waits for all three, since a step needs the tokens
of the step before. The model and the sampler are replaced by ones that do nothing, and modules that
are only named (the model loader, tokenizers) by empty ones. Needs PyTorch 2; on a GPU the inputs are
copied to it.

"decode": a number of sequences decode; medians of 300 steps. "traffic": requests come and go, and
least squares give each part its time.
"""
import contextlib
import importlib.abc
import importlib.machinery
import sys
import time
import types
from unittest.mock import MagicMock

REAL = (
    "vllm.v1.core", "vllm.v1.request", "vllm.v1.engine", "vllm.v1.outputs",
    "vllm.v1.kv_cache_interface", "vllm.v1.metrics", "vllm.v1.utils", "vllm.v1.spec_decode.metrics",
    "vllm.sampling_params", "vllm.v1.worker.gpu_input_batch", "vllm.v1.worker.gpu_model_runner",
    "vllm.v1.worker.block_table", "vllm.v1.sample.metadata", "vllm.v1.sample.logits_processor",
)
FOLDERS = ("vllm.v1", "vllm.v1.spec_decode", "vllm.v1.worker", "vllm.v1.sample")
ABSENT = ("vllm", "msgspec", "pydantic", "transformers", "zmq", "prometheus_client", "cbor2", "tqdm",
          "cloudpickle", "psutil")


class Struct:
    """In place of msgspec.Struct: fields by keyword, with the defaults of the class."""

    def __init_subclass__(cls, **options):
        super().__init_subclass__()

    def __init__(self, *values, **fields):
        self.__dict__.update(zip(self.__class__.__annotations__, values))
        self.__dict__.update(fields)


class Loose(type):
    """The type of an absent class: it has every attribute, and takes all arguments."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return MagicMock(name=name)


class Empty(types.ModuleType):
    """A module with every name: classes where the name begins with a capital, else mocks."""
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        value = MagicMock(name=name)
        if name[0].isupper() and not name.isupper():
            value = Loose(name, (), {"__init__": lambda self, *values, **fields: None})
        setattr(self, name, value)
        return value


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Says which modules are read from SOURCE, and makes the others."""

    def find_spec(self, name, path, target=None):
        if any(name == real or name.startswith(real + ".") for real in REAL):
            return None
        if name in FOLDERS or name.split(".")[0] in ABSENT:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = Empty(spec.name)
        if spec.name.startswith("vllm"):
            module.__path__ = [sys.argv[1] + "/" + spec.name.replace(".", "/")]
        if spec.name == "msgspec":
            module.Struct = Struct
            module.field = lambda default_factory=None, **_: default_factory and default_factory()
        if spec.name == "vllm.utils":
            module.cdiv = lambda a, b: -(a // -b)
            module.is_list_of = lambda value, kind: True
            module.GiB_bytes = 1 << 30
            module.round_up = lambda a, b: -(a // -b) * b
        if spec.name == "vllm.forward_context":
            module.set_forward_context = lambda *_, **__: contextlib.nullcontext()
        if spec.name == "vllm.distributed.parallel_state":
            group = types.SimpleNamespace(is_first_rank=True, is_last_rank=True, ranks=[0])
            module.get_pp_group = lambda: group
        if spec.name == "vllm.distributed.kv_events":
            for event in ("AllBlocksCleared", "BlockRemoved", "BlockStored", "KVCacheEvent"):
                setattr(module, event, type(event, (), {}))
        return module

    def exec_module(self, module):
        pass


class Structured:
    """No request has a grammar."""

    def should_advance(self, request):
        return False

    def grammar_bitmask(self, *arguments):
        return None


def new_scheduler():
    from types import SimpleNamespace as Config
    import vllm.v1.core.encoder_cache_manager as encoder
    encoder.compute_encoder_budget = lambda **_: (0, 0)
    from vllm.v1.core.sched.scheduler import Scheduler
    from vllm.v1.kv_cache_interface import FullAttentionSpec, KVCacheConfig, KVCacheGroupSpec
    config = Config(
        scheduler_config=Config(max_num_seqs=256, max_num_batched_tokens=2048, max_model_len=8192,
                                chunked_prefill_enabled=True, long_prefill_token_threshold=0,
                                policy="fcfs", disable_hybrid_kv_cache_manager=False,
                                disable_chunked_mm_input=False),
        cache_config=Config(block_size=16, num_gpu_blocks=13000, enable_prefix_caching=True),
        parallel_config=Config(data_parallel_rank=0, pipeline_parallel_size=1),
        model_config=None, lora_config=None, kv_transfer_config=None, speculative_config=None,
        kv_events_config=None)
    spec = FullAttentionSpec(block_size=16, num_kv_heads=8, head_size=128, dtype="bf16",
                             use_mla=False, sliding_window=None)
    kv = KVCacheConfig(num_blocks=13000, kv_cache_tensors=[],
                       kv_cache_groups=[KVCacheGroupSpec(["layer"], spec)])
    scheduler = Scheduler(config, kv, Structured(), include_finished_set=False, log_stats=True)
    scheduler.kv_event_publisher = Config(publish=lambda batch: None)
    return scheduler


def new_request(number, prompt_tokens, answer_tokens):
    from vllm.sampling_params import SamplingParams
    from vllm.v1.core.kv_cache_utils import get_request_block_hasher, init_none_hash
    from vllm.v1.request import Request
    parameters = SamplingParams(max_tokens=answer_tokens, temperature=0.0)
    init_none_hash(hash)
    return Request(request_id=f"cmpl-{number:032x}-0",
                   prompt_token_ids=[number * 10000 + i for i in range(prompt_tokens)],
                   multi_modal_kwargs=None, multi_modal_hashes=None, multi_modal_placeholders=None,
                   sampling_params=parameters, pooling_params=None, eos_token_id=128001,
                   arrival_time=0.0,
                   block_hasher=get_request_block_hasher(16, hash))


def new_runner(device):
    """vLLM's model runner over a model that does nothing and a sampler that always says 7."""
    import numpy as np
    import torch
    from types import SimpleNamespace as Config
    from vllm.v1.sample.logits_processor import LogitsProcessors
    from vllm.v1.worker.gpu_input_batch import InputBatch
    from vllm.v1.worker.gpu_model_runner import GPUModelRunner

    pinned = device.type == "cuda"

    def buffers(size, kind):
        host = torch.zeros(size, dtype=kind, pin_memory=pinned)
        return torch.zeros(size, dtype=kind, device=device), host, host.numpy()

    hidden = torch.zeros(2048, 16, device=device)
    tokens = torch.full((256, 1), 7, dtype=torch.int64, device=device)

    class Model:
        def __call__(self, **inputs):
            return hidden[:len(inputs["input_ids"])]

        def compute_logits(self, states, metadata):
            return states

    class Runner(GPUModelRunner):
        def __init__(self):
            self.device, self.pin_memory = device, pinned
            self.requests, self.encoder_cache = {}, {}
            self.max_model_len, self.uses_mrope, self.supports_mm_inputs = 8192, False, False
            self.reorder_batch_threshold = self.speculative_config = self.lora_config = None
            self.kv_sharing_fast_prefill_logits_indices = None
            self.cascade_attn_enabled = self.is_encoder_only_model = False
            self.use_aux_hidden_state_outputs = False
            self.uniform_decode_query_len = 1
            self.arange_np = np.arange(8192, dtype=np.int64)
            self.input_ids, self.input_ids_cpu, _ = buffers(2048, torch.int32)
            self.positions, self.positions_cpu, self.positions_np = buffers(2048, torch.int64)
            self.query_start_loc, self.query_start_loc_cpu, self.query_start_loc_np = \
                buffers(257, torch.int32)
            self.seq_lens, self.seq_lens_cpu, self.seq_lens_np = buffers(256, torch.int32)
            self.model = Model()
            self.sampler = lambda logits, sampling_metadata: Config(
                logprobs_tensors=None, sampled_token_ids=tokens[:len(logits)])
            from vllm.config import CUDAGraphMode
            none = CUDAGraphMode.NONE
            type.__setattr__(CUDAGraphMode, "NONE", none)
            self.compilation_config = Config(
                cudagraph_mode=none, pass_config=Config(enable_sequence_parallelism=False))
            self.parallel_config = Config(tensor_parallel_size=1, distributed_executor_backend=None)
            self.vllm_config = Config(parallel_config=self.parallel_config)
            self.cache_config = Config(kv_sharing_fast_prefill=False)
            self.cudagraph_dispatcher = Config(dispatch=lambda descriptor: (None, descriptor))
            self.kv_cache_config = Config(kv_cache_groups=[Config(kv_cache_spec=None)])
            builder = Config(build=lambda **arguments: None)
            self.attn_groups = [[Config(metadata_builder=builder, layer_names=["layer"])]]
            self.input_batch = InputBatch(
                max_num_reqs=256, max_model_len=8192, max_num_batched_tokens=2048, device=device,
                pin_memory=pinned, vocab_size=128256, block_sizes=[16],
                logitsprocs=LogitsProcessors())

        def get_dp_padding(self, count):
            return 0, None

        def _init_model_kwargs(self, count):
            return {}

        def _get_prompt_logprobs_dict(self, hidden_states, scheduler_output):
            return {}

        def maybe_get_kv_connector_output(self, scheduler_output):
            return contextlib.nullcontext()

        def eplb_step(self):
            pass

    return Runner()


def step(scheduler, runner):
    """Returns the time of each part in us, and the step: sequences, admitted, their tokens, ended."""
    begin = time.perf_counter()
    output = scheduler.schedule()
    scheduled = time.perf_counter()
    result = runner.execute_model(output)
    ran = time.perf_counter()
    scheduler.update_from_output(output, result)
    end = time.perf_counter()
    times = [(scheduled - begin) * 1e6, (ran - scheduled) * 1e6, (end - ran) * 1e6]
    sequences = len(output.num_scheduled_tokens)
    return times, (1, sequences, len(output.scheduled_new_reqs),
                   output.total_num_scheduled_tokens - sequences, len(output.finished_req_ids))


def decodes(running, device):
    """Medians of 300 steps in which @running sequences decode."""
    scheduler, runner = new_scheduler(), new_runner(device)
    for number in range(running):
        scheduler.add_request(new_request(number, 400, 4000))
    while step(scheduler, runner)[1][1:4] != (running, 0, 0):
        pass
    times = [step(scheduler, runner)[0] for _ in range(300)]
    parts = [sorted(part)[150] for part in zip(*times)]
    whole = sorted(map(sum, times))
    print(f"decode {running:4} {parts[0]:6.0f} {parts[1]:6.0f} {parts[2]:6.0f} {whole[150]:6.0f} "
          f"{whole[0]:6.0f}", flush=True)


def traffic(running, device):
    """Requests come and go. Steps in the least squares: a time for each part of a step."""
    import numpy as np
    random = np.random.default_rng(1)
    scheduler, runner = new_scheduler(), new_runner(device)
    rows, times, number = [], [], 0
    for turn in range(3000):
        if turn % 100 == 0:
            most = int(random.integers(running // 4, running + 1))
        if len(scheduler.running) + len(scheduler.waiting) < most and random.random() < running / 64:
            scheduler.add_request(new_request(number, int(random.integers(50, 1000)),
                                              int(random.integers(20, 240))))
            number += 1
        if not scheduler.has_unfinished_requests():
            continue
        part, row = step(scheduler, runner)
        times.append(sum(part))
        rows.append(row)
    rows, times = np.array(rows[200:], float), np.array(times[200:])
    for _ in range(3):  # without the steps that something else has disturbed
        found = np.linalg.lstsq(rows, times, rcond=None)[0]
        error = np.abs(rows @ found - times)
        kept = error < 3 * np.median(error)
        rows, times = rows[kept], times[kept]
    print(f"traffic {running:4} " + " ".join(f"{value:8.2f}" for value in found) +
          f" {len(rows):6} {rows[:, 1].mean():6.0f}", flush=True)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.path.insert(0, sys.argv[1])
    sys.meta_path.insert(0, Finder())
    import torch
    import typing_extensions
    if not hasattr(typing_extensions, "deprecated"):
        typing_extensions.deprecated = lambda text: lambda function: function
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.set_num_threads(1)
    print(f"# torch {torch.__version__}, inputs on {device}")
    print("# decode: sequences; us of schedule, execute_model, update_from_output; all, least of all")
    for running in (1, 2, 4, 8, 16, 32, 64, 128, 192, 256):
        decodes(running, device)
    print("# traffic: sequences at most; us a step, a sequence, an admission, a token of a prompt, an "
          "end; steps, sequences in the mean")
    for running in (64, 128, 256):
        traffic(running, device)


main()
