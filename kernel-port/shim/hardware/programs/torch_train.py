# SPDX-License-Identifier: MIT OR GPL-2.0
# Training: a small convolutional network, eager, SGD.
from common import BATCH, finish, loop, torch

net = torch.nn.Sequential(
    torch.nn.Conv2d(3, 64, 3, padding=1), torch.nn.BatchNorm2d(64), torch.nn.ReLU(),
    torch.nn.Conv2d(64, 128, 3, padding=1, stride=2), torch.nn.BatchNorm2d(128), torch.nn.ReLU(),
    torch.nn.Conv2d(128, 256, 3, padding=1, stride=2), torch.nn.ReLU(),
    torch.nn.Flatten(), torch.nn.Linear(256 * 16 * 16, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10),
).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
images = torch.randn(BATCH or 64, 3, 64, 64, device="cuda")
labels = torch.randint(0, 10, (BATCH or 64,), device="cuda")


def step():
    optimizer.zero_grad(set_to_none=True)
    loss = torch.nn.functional.cross_entropy(net(images), labels)
    loss.backward()
    optimizer.step()


for _ in range(5):
    step()
n, seconds = loop(lambda i: step(), 40)
finish(net.parameters(), n, seconds)
