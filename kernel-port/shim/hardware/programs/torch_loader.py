# SPDX-License-Identifier: MIT OR GPL-2.0
# A data loader of several processes feeds a training loop through pinned memory.
from common import finish, steps, torch


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randn(256, generator=generator), index % 10


def main():
    net = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).cuda()
    optimizer = torch.optim.Adam(net.parameters())
    loader = torch.utils.data.DataLoader(Numbers(), batch_size=64, num_workers=4, pin_memory=True)
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        x = x.cuda(non_blocking=True)
        torch.nn.functional.cross_entropy(net(x), y.cuda(non_blocking=True)).backward()
        optimizer.step()
        if i == steps(40):
            break
    finish(net.parameters())


if __name__ == "__main__":
    main()
