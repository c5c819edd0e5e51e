#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR GPL-2.0
"""What a token and a request cost the process of vLLM that serves HTTP, and its client.

    vllm_frontend.py SOURCE >RESULT

SOURCE is a folder with the package of vLLM 0.10.1, as its release has it; nothing of it is built or
installed. Three processes run. The server is vLLM's API server as it is, with AsyncLLM and its
sockets to the engine, under uvicorn. The engine is only a sender: a message a step, with a token
for each running request, in the order of the scheduler. The client either only drains its sockets
and notes when each token came, or is the one of vLLM's benchmark. The tokenizer and the decode of
the detokenizer are replaced by tables, and modules that are only named (PyTorch, the models) by
empty ones.

Needs what vLLM's server needs beside these: fastapi, uvicorn, uvloop, httptools, pydantic, msgspec,
zmq, aiohttp, prometheus_client, prometheus_fastapi_instrumentator, numpy, regex and psutil.
"""
import asyncio
import heapq
import importlib
import importlib.abc
import importlib.machinery
import multiprocessing
import os
import random
import re
import select
import shutil
import socket
import statistics
import sys
import tempfile
import time
import types
import typing
from types import SimpleNamespace as Config
from unittest.mock import MagicMock

REAL = (
    "vllm.benchmarks.lib.endpoint_request_func", "vllm.entrypoints.launcher",
    "vllm.entrypoints.openai.api_server", "vllm.entrypoints.openai.protocol",
    "vllm.entrypoints.openai.serving_completion", "vllm.entrypoints.openai.serving_engine",
    "vllm.entrypoints.utils", "vllm.adapter_commons.request", "vllm.envs", "vllm.inputs",
    "vllm.logger", "vllm.logging_utils", "vllm.lora.request", "vllm.outputs", "vllm.pooling_params",
    "vllm.sampling_params", "vllm.sequence", "vllm.tasks", "vllm.utils", "vllm.v1.engine",
    "vllm.v1.metrics", "vllm.v1.outputs", "vllm.v1.request", "vllm.v1.serial_utils",
    "vllm.v1.core.kv_cache_utils", "vllm.v1.kv_cache_interface", "vllm.v1.spec_decode.metrics",
)
NOT_REAL = ("vllm.v1.engine.core", "vllm.v1.engine.coordinator", "vllm.v1.engine.utils",
            "vllm.v1.engine.mm_input_cache", "vllm.v1.metrics.ray_wrappers")
ABSENT = ("vllm", "torch", "transformers", "tokenizers", "openai", "cbor2", "setproctitle",
          "pybase64", "PIL", "huggingface_hub")
ANY = ("openai", "vllm.entrypoints.chat_utils", "vllm.entrypoints.score_utils", "vllm.multimodal")
STREAMS = (1, 16, 64, 128, 220)


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
        if name.endswith("Error"):
            value = type(name, (Exception,), {})
        elif name[0].isupper() and not name.isupper():
            value = Loose(name, (), {"__init__": lambda self, *values, **fields: None})
            if self.__name__ in ANY or self.__name__.split(".")[0] in ANY:
                value = typing.Any
        setattr(self, name, value)
        return value


class Decode:
    """In place of the tokenizers' DecodeStream: the number of the step is the token."""

    def __init__(self, skip_special_tokens):
        pass

    def step(self, tokenizer, token):
        return tokenizer.words[token]


class Tokenizer:
    """In place of a tokenizer: four characters are a token."""
    eos_token_id, max_token_id = 9999, 9999
    words = [f" {number:04}" for number in range(10000)]
    ids = list(range(10000))

    def __init__(self):
        self._tokenizer = self

    def decode(self, ids):
        return "".join([self.words[number] for number in ids])

    def get_lora_tokenizer(self, request):
        return self

    async def get_lora_tokenizer_async(self, request):
        return self

    def __call__(self, prompt, **options):
        if isinstance(prompt, list):
            return {"input_ids": [self.ids[:len(text) // 4] for text in prompt]}
        return Config(input_ids=self.ids[:len(prompt) // 4])


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Says which modules are read from SOURCE, and makes the others."""

    def find_spec(self, name, path, target=None):
        real = any(name == real or name.startswith(real + ".") for real in REAL)
        if real and name not in NOT_REAL:
            return None
        if name.split(".")[0] in ABSENT:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        module = Empty(spec.name)
        if spec.name.startswith("vllm"):
            module.__path__ = [sys.argv[1] + "/" + spec.name.replace(".", "/")]
        if spec.name == "torch":
            module.iinfo = lambda kind: Config(min=-1 << 63, max=(1 << 63) - 1)
        if spec.name == "tokenizers":
            module.__version__ = "0.21.1"
        if spec.name == "tokenizers.decoders":
            module.DecodeStream = Decode
        if spec.name == "transformers":
            module.PreTrainedTokenizerFast = Tokenizer
        if spec.name == "transformers.tokenization_utils_base":
            module.BatchEncoding = lambda data: Config(**data)
        if spec.name == "vllm.version":
            module.__version__ = "0.10.1"
        if spec.name == "vllm.platforms":
            module.current_platform = MagicMock()
            module.current_platform.validate_request = lambda **_: None
            module.current_platform.get_max_output_tokens = lambda length: sys.maxsize
        if spec.name == "vllm.transformers_utils.tokenizer_group":
            module.init_tokenizer_from_configs = lambda **_: Tokenizer()
        if spec.name == "vllm.v1.engine.core":
            module.EngineCoreProc.ENGINE_CORE_DEAD = b"ENGINE_CORE_DEAD"
        return module

    def exec_module(self, module):
        pass


class Meter:
    """Notes, when each message is decoded, the CPU time of the event loop and of the process so
    far, and the time in three of its parts."""

    def __init__(self, notes):
        self.notes, self.count, self.parts = notes, 0, [0.0, 0.0, 0.0]

    def watch(self, part, owner, name):
        function = getattr(owner, name)

        def wrapper(*values, **named):
            if not part:
                place = 5 * self.count
                self.notes[place:place + 5] = [time.thread_time(), time.process_time(), *self.parts]
                self.count += 1
            begin = time.perf_counter()
            result = function(*values, **named)
            self.parts[part] += time.perf_counter() - begin
            return result

        setattr(owner, name, wrapper)


def serve(listener, addresses, notes):
    """The server's process: what run_server_worker() of vLLM does."""
    os.dup2(2, 1)
    import uvloop
    from vllm import envs
    from vllm.entrypoints.launcher import serve_http
    from vllm.entrypoints.openai.api_server import build_app
    from vllm.entrypoints.openai.serving_completion import OpenAIServingCompletion
    from vllm.v1.engine.async_llm import AsyncLLM
    from vllm.v1.engine.output_processor import OutputProcessor
    from vllm.v1.metrics.loggers import StatLoggerManager
    from vllm.v1.serial_utils import MsgpackDecoder
    meter = Meter(notes)
    meter.watch(0, MsgpackDecoder, "decode")
    meter.watch(1, OutputProcessor, "process_outputs")
    meter.watch(2, StatLoggerManager, "record")
    model = Config(
        skip_tokenizer_init=False, max_model_len=8192, max_logprobs=20, encoder_config=None,
        is_multimodal_model=False, is_encoder_decoder=False, processor_return_mm_hashes=False,
        logits_processor_pattern=None, served_model_name="llama", generation_config="auto",
        try_get_generation_config=lambda: {}, get_diff_sampling_param=lambda: {})
    config = Config(
        model_config=model, scheduler_config=None, lora_config=None, decoding_config=None,
        speculative_config=None,
        cache_config=Config(enable_prefix_caching=True, num_gpu_blocks=13000, block_size=16,
                            metrics_info=lambda: {"block_size": "16"}),
        observability_config=Config(otlp_traces_endpoint=None, show_hidden_metrics=False),
        parallel_config=Config(
            data_parallel_size=1, data_parallel_rank=0, data_parallel_size_local=1,
            data_parallel_rank_local=None, data_parallel_hybrid_lb=False,
            data_parallel_external_lb=False))
    options = Config(
        disable_fastapi_docs=False, root_path=None, allowed_origins=["*"], allow_credentials=False,
        allowed_methods=["*"], allowed_headers=["*"], api_key=None, middleware=[],
        enable_request_id_headers=False)
    models = Config(is_base_model=lambda name: name == "llama", lora_requests={})

    async def run():
        engine = AsyncLLM(config, None, log_stats=True, log_requests=False,
                          client_addresses=addresses)
        engine.is_tracing_enabled = untraced
        app = build_app(options)
        app.state.engine_client, app.state.log_stats = engine, True
        app.state.openai_serving_completion = OpenAIServingCompletion(
            engine, model, models, request_logger=None)
        app.state.openai_serving_tokenization = None
        await serve_http(app, sock=listener, host=None, port=listener.getsockname()[1],
                         log_level="info", access_log=True,
                         timeout_keep_alive=envs.VLLM_HTTP_TIMEOUT_KEEP_ALIVE)

    async def untraced():
        return False

    uvloop.run(run())


def http(prompt_tokens, answer_tokens):
    """A request as vLLM's benchmark sends it."""
    body = (f'{{"model": "llama", "prompt": "{"abc " * prompt_tokens}", "temperature": 0.0, '
            f'"repetition_penalty": 1.0, "max_tokens": {answer_tokens}, "logprobs": null, '
            f'"stream": true, "stream_options": {{"include_usage": true}}, "ignore_eos": true}}')
    return ("POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode()


def drain(port, used, streams, count, prompt_tokens, answers, pause):
    """Sends @count requests over @streams. Returns when each was sent, and of each token when it
    came, its request and its step. With a @pause between the requests of a stream, how many streams
    are busy changes all the time."""
    poll = select.epoll()
    peers, busy, due, sent, came = {}, {}, [], [], []

    def connect(stream):
        peers[stream] = socket.create_connection(("127.0.0.1", port))
        busy[peers[stream].fileno()] = [stream, None]
        poll.register(peers[stream], select.EPOLLIN)

    for stream in range(streams):
        connect(stream)
        heapq.heappush(due, (time.monotonic() + random.uniform(0, pause), stream))
    ended, most, turn = 0, streams, 0
    while ended < count:
        while due and due[0][0] <= time.monotonic():
            now, stream = heapq.heappop(due)
            if pause and now > turn:
                most, turn = random.randint(streams // 4, streams), now + 4 * pause
            if len(sent) - ended >= most:
                heapq.heappush(due, (now + pause / 2, stream))
            elif len(sent) < count:
                busy[peers[stream].fileno()][1] = len(sent)
                sent.append(time.monotonic())
                peers[stream].sendall(http(prompt_tokens, random.randint(*answers)))
        for number, _ in poll.poll(max(due[0][0] - time.monotonic(), 0) if due else 1):
            stream, request = busy[number]
            data = peers[stream].recv(65536)
            now = time.monotonic()
            if not data and request is None:  # the server ends idle connections after 5 s
                peers[stream].close()
                del busy[number]
                connect(stream)
                continue
            if not data or data.startswith(b"HTTP") and b" 200 " not in data[:20]:
                sys.exit(f"the server has refused a request: {data}")
            came += [(now, request, int(step)) for step in re.findall(rb'"text":" (\d+)"', data)]
            if data.endswith(b"0\r\n\r\n"):
                ended, busy[number][1] = ended + 1, None
                heapq.heappush(due, (now + random.uniform(0, pause), stream))
        used.value = time.process_time()
    for peer in peers.values():
        peer.close()
    return sent, came


async def benchmark(port, used, streams, prompt_tokens, answer_tokens):
    """The client of vLLM's benchmark."""
    import aiohttp
    from vllm.benchmarks.lib.endpoint_request_func import (RequestFuncInput,
                                                           async_request_openai_completions)

    async def watch():
        while True:
            used.value = time.process_time()
            await asyncio.sleep(0.05)

    watcher = asyncio.create_task(watch())
    request = RequestFuncInput(
        prompt="abc " * prompt_tokens, api_url=f"http://127.0.0.1:{port}/v1/completions",
        prompt_len=prompt_tokens, output_len=answer_tokens, model="llama", ignore_eos=True)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=streams), trust_env=True,
                                     timeout=aiohttp.ClientTimeout(total=21600)) as session:
        answers = await asyncio.gather(*[async_request_openai_completions(request, session)
                                         for _ in range(streams)])
    watcher.cancel()
    return answers


def client(port, pipe, used):
    """The client's process. Its CPU time so far is @used."""
    while order := pipe.recv():
        if order[0] == "drain":
            pipe.send(drain(port, used, *order[1:]))
        else:
            answers = asyncio.run(benchmark(port, used, *order[1:]))
            pipe.send([answer.success for answer in answers])


class Engine:
    """In place of the engine's process: it says the number of the step to every request."""

    def __init__(self, addresses):
        import zmq
        from vllm.v1.engine import EngineCoreRequest
        from vllm.v1.serial_utils import MsgpackDecoder, MsgpackEncoder
        context = zmq.Context()
        self.input, self.output = context.socket(zmq.DEALER), context.socket(zmq.PUSH)
        self.input.setsockopt(zmq.IDENTITY, b"\0\0")
        self.input.connect(addresses["input_address"])
        self.output.connect(addresses["output_address"])
        self.input.send(b"")
        self.encoder, self.decoder = MsgpackEncoder(), MsgpackDecoder(EngineCoreRequest)
        self.running, self.number, self.came = [], 0, []

    def admit(self, seconds):
        """Receives requests for @seconds. A request here: its name, and its tokens to come."""
        end = time.monotonic() + seconds
        while self.input.poll(max(0, (end - time.monotonic()) * 1e3)):
            kind, body = self.input.recv_multipart()
            assert kind == b"\0", "a request was aborted"
            self.came.append(time.monotonic())
            request = self.decoder.decode(body)
            self.running.append([request.request_id, request.sampling_params.max_tokens, True])

    def step(self):
        """Sends a token to every request. Returns when, and: tokens, first tokens, ends."""
        from vllm.v1.engine import (EngineCoreEvent, EngineCoreEventType, EngineCoreOutput,
                                    EngineCoreOutputs, FinishReason)
        from vllm.v1.metrics.stats import SchedulerStats
        outputs, new, ended = [], 0, 0
        for request in self.running:
            output = EngineCoreOutput(request[0], [self.number])
            if request[2]:
                output.events = [EngineCoreEvent.new_event(EngineCoreEventType.QUEUED),
                                 EngineCoreEvent.new_event(EngineCoreEventType.SCHEDULED)]
            request[1] -= 1
            if not request[1]:
                output.finish_reason = FinishReason.LENGTH
            new, ended, request[2] = new + request[2], ended + (not request[1]), False
            outputs.append(output)
        self.number += 1
        self.running = [request for request in self.running if request[1]]
        message = self.encoder.encode(EngineCoreOutputs(
            outputs=outputs, scheduler_stats=SchedulerStats(num_running_reqs=len(self.running))))
        now = time.monotonic()
        self.output.send_multipart(message)
        return now, len(outputs), new, ended


class Run:
    """A server and a client of their own."""

    def __init__(self):
        self.folder = tempfile.mkdtemp()
        path = "ipc://" + self.folder
        addresses = {"input_address": path + "/in", "output_address": path + "/out"}
        listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self.notes = multiprocessing.RawArray("d", 5 * 10000)
        self.client = multiprocessing.RawValue("d")
        self.pipe, other = multiprocessing.Pipe()
        self.children = [
            multiprocessing.Process(target=serve, args=(listener, addresses, self.notes)),
            multiprocessing.Process(
                target=client, args=(listener.getsockname()[1], other, self.client))]
        for child in self.children:
            child.start()
        self.engine = Engine(addresses)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for child in self.children:
            child.kill()
            child.join()
        shutil.rmtree(self.folder)

    def used(self, first):
        """CPU time in us from each step to the next, after the step @first: of the server's event
        loop, of the server, and the three parts."""
        steps = [self.notes[5 * step:5 * step + 5] for step in range(first, self.engine.number)]
        return [[(b - a) * 1e6 for a, b in zip(*pair)] for pair in zip(steps, steps[1:])]

    def admit(self, count):
        """Waits until @count requests run."""
        while len(self.engine.running) < count:
            self.check()
            self.engine.admit(0.05)

    def check(self):
        if not all(child.is_alive() for child in self.children):
            sys.exit("the server or the client has ended")


def arrivals(times, came):
    """For each step, in order: how long after its message each token came, and whose, in ms."""
    steps = {}
    for now, stream, step in came:
        if step < len(times):
            steps.setdefault(step, []).append(((now - times[step]) * 1e3, stream))
    return {step: sorted(delays) for step, delays in steps.items()}


def tokens(streams, steps, period, kind):
    """All @streams get a token each step; the client of @kind."""
    with Run() as run:
        if kind == "drain":
            run.pipe.send(("drain", streams, streams, 400, (steps, steps), 0))
        else:
            run.pipe.send(("benchmark", streams, 400, steps))
        run.admit(streams)
        time.sleep(1)
        after = 0
        times, warm = [], steps // 5
        for step in range(steps):
            if step in (warm, steps - 1):
                before, after = after, run.client.value
            times.append(run.engine.step()[0])
            time.sleep(max(0, times[-1] + period - time.monotonic()))
        result = run.pipe.recv()
        parts = run.used(warm)
    means = [statistics.mean(part) / streams for part in zip(*parts)]
    least = statistics.median(part[0] for part in parts) / streams
    means.append((after - before) * 1e6 / streams / (steps - 1 - warm))
    if kind != "drain":
        assert all(result)
        print(f"benchmark {streams:4} {means[5]:6.1f} {means[0]:6.1f} {means[1]:6.1f}", flush=True)
        return
    delays = [delay for step, delay in arrivals(times, result[1]).items() if step >= warm]
    whole = [delay for delay in delays if len(delay) == streams]
    order = [stream for _, stream in whole[0]]
    same = statistics.mean(sum(a == b for a, (_, b) in zip(order, delay)) / streams
                           for delay in whole)
    first, middle, last = [statistics.median(delay[int(place * (streams - 1))][0]
                                             for delay in whole) for place in (0, 0.5, 1)]
    print(f"tokens {streams:4} {means[0]:6.1f} {least:6.1f} {means[1]:6.1f} {means[2]:6.1f} "
          f"{means[3]:6.1f} {means[4]:6.1f} {means[5]:6.1f} {first:7.2f} {middle:7.2f} {last:7.2f} "
          f"{same:5.2f} {len(whole):4}", flush=True)


def requests(prompt_tokens, streams, count):
    """Requests of one token each: @streams at a time, answered at once."""
    with Run() as run:
        run.pipe.send(("drain", streams, count, prompt_tokens, (1, 1), 0))
        times, answered, first = [], 0, None
        while answered < count:
            run.admit(1)
            run.engine.admit(0.002)
            if answered >= count // 5 and not first:
                first, since = run.engine.number, answered
            now, number, _, _ = run.engine.step()
            times.append(now)
            answered += number
            last = number
        sent, came = run.pipe.recv()
        parts = [sum(part) / (count - since - last) for part in zip(*run.used(first))]
    waits = [(there - then) * 1e3 for then, there in zip(sent, run.engine.came)]
    backs = [delay for row in arrivals(times, came).values() for delay, _ in row]
    print(f"request {prompt_tokens:5} {streams:4} {parts[0]:7.0f} {parts[1]:7.0f} "
          f"{statistics.median(waits):7.2f} {statistics.median(backs):7.2f}", flush=True)


def traffic(streams, count, period):
    """Requests come and go. Least squares give a step, a token, a request and an end their time."""
    import numpy as np
    with Run() as run:
        run.pipe.send(("drain", streams, count, 400, (10, 70), 10 * period))
        run.admit(1)
        times, rows, ended = [], [], 0
        arrived = len(run.engine.came)
        while ended < count:
            run.check()
            row = run.engine.step()
            times.append(row[0])
            run.engine.admit(max(0, times[-1] + period - time.monotonic()))
            rows.append([1, row[1], len(run.engine.came) - arrived, row[3]])
            arrived, ended = len(run.engine.came), ended + row[3]
        came = run.pipe.recv()[1]
        values = np.array([part[0] for part in run.used(20)])
    rows = np.array(rows[:-1], float)[20:]
    for _ in range(3):  # without the steps that something else has disturbed
        found = np.linalg.lstsq(rows, values, rcond=None)[0]
        error = np.abs(rows @ found - values)
        kept = error < 3 * np.median(error)
        rows, values = rows[kept], values[kept]
    seen, firsts, others, lasts, places = set(), [], [], [], []
    for _, delays in sorted(arrivals(times, came).items()):
        new = [stream not in seen for _, stream in delays]
        seen.update(stream for _, stream in delays)
        if any(new) and not all(new):
            firsts += [delay for (delay, _), is_new in zip(delays, new) if is_new]
            others += [delay for (delay, _), is_new in zip(delays, new) if not is_new]
            places += [place / (len(new) - 1) for place, is_new in enumerate(new) if is_new]
            lasts.append(delays[-1][0])
    print(f"traffic {streams:4} " + " ".join(f"{value:8.2f}" for value in found) +
          f" {len(rows):5} {rows[:, 1].mean():5.0f} {rows[:, 2].mean():5.1f}"
          f" {statistics.median(firsts):6.2f} {statistics.median(others):6.2f}"
          f" {statistics.median(lasts):6.2f} {statistics.mean(places):5.2f}", flush=True)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.path.insert(0, sys.argv[1])
    sys.meta_path.insert(0, Finder())
    multiprocessing.set_start_method("fork")
    import fastapi
    import pydantic
    import uvicorn
    for name in ("vllm.logging_utils", "vllm.entrypoints.openai.api_server"):
        importlib.import_module(name)
    print(f"# Python {sys.version.split()[0]}, pydantic {pydantic.VERSION}, "
          f"fastapi {fastapi.__version__}, uvicorn {uvicorn.__version__}, {os.cpu_count()} CPUs")
    print("# tokens: streams; us a token of CPU: the event loop, its median, the server; of these "
          "decode, process_outputs, record; a client that drains; ms after the message: first, "
          "median, last token; share in the same order, steps")
    for streams in STREAMS:
        tokens(streams, 120, 0.05 if streams < 200 else 0.1, "drain")
    print("# benchmark: streams; us a token of CPU: vLLM's client, the server's event loop, the "
          "server")
    for streams in STREAMS:
        tokens(streams, 50, 0.05 if streams < 200 else 0.1, "benchmark")
    print("# request: prompt tokens, at a time; us of CPU a request of one token: the event loop, "
          "the server; ms until the engine has it, ms of its token to the client")
    for prompt_tokens, streams in ((16, 1), (256, 1), (1024, 1), (256, 16)):
        requests(prompt_tokens, streams, 300)
    print("# traffic: streams; us of the event loop a step, a token, a request, an end; steps, "
          "tokens and requests a step; ms after the message: a first token, another, the last; "
          "place of the first tokens, from 0 to 1")
    for streams in (64, 128):
        traffic(streams, 400, 0.05)


main()
