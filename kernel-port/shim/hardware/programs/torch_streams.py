# SPDX-License-Identifier: MIT OR GPL-2.0
# Eight streams with events between them, and copies from pinned memory beside the kernels.
from common import finish, loop, torch

streams = [torch.cuda.Stream() for _ in range(8)]
host = [torch.randn(512, 512).pin_memory() for _ in streams]
weights = [torch.randn(512, 512, device="cuda") * 0.04 for _ in streams]
results = [torch.zeros(512, 512, device="cuda") for _ in streams]
back = [torch.empty(512, 512).pin_memory() for _ in streams]
torch.cuda.synchronize()


def step(i):
    done = []
    for k, stream in enumerate(streams):
        with torch.cuda.stream(stream):
            data = host[k].to("cuda", non_blocking=True)
            results[k] = torch.tanh(results[k] @ weights[k] + data)
            event = torch.cuda.Event()
            event.record()
            done.append(event)
    for k, stream in enumerate(streams):
        stream.wait_event(done[(k + 1) % 8])
        with torch.cuda.stream(stream):
            results[k] = results[k] + 0.5
            back[k].copy_(results[k], non_blocking=True)


n, seconds = loop(step, 40)
torch.cuda.synchronize()
finish(results + back, n, seconds)
