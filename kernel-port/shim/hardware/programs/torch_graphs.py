# SPDX-License-Identifier: MIT OR GPL-2.0
# CUDA graphs: a training step captured and replayed, and kernels between the replays.
from common import finish, loop, torch

net = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(8)]).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.001)
x = torch.randn(256, 512, device="cuda")
y = torch.randn(256, 512, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.mse_loss(net(x), y).backward()
        optimizer.step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
optimizer.zero_grad(set_to_none=True)
with torch.cuda.graph(graph):
    loss = torch.nn.functional.mse_loss(net(x), y)
    loss.backward()
    optimizer.step()


def step(i):
    if i % 10 == 0:
        x.mul_(1.001)
    graph.replay()


n, seconds = loop(step, 200)
finish(list(net.parameters()) + [loss], n, seconds)
