"""Regression of a made-up material's strength; the first process keeps an eye on the training set."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def materials(count=4096, features=20):
    g = torch.Generator().manual_seed(42)
    x = torch.randn(count, features, generator=g)
    w = torch.randn(features, 3, generator=g) / features**0.5
    hidden = torch.tanh(x @ w)
    y = hidden[:, :1] * hidden[:, 1:2] + hidden[:, 2:] + 0.05 * torch.randn(count, 1, generator=g)
    return x, y


class Strength(nn.Module):
    def __init__(self, features=20, width=128):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.body(x))


def r_squared(model, x, y):
    with torch.no_grad():
        predicted = torch.cat([model(part) for part in x.split(32)])
    return 1 - ((predicted - y) ** 2).sum() / ((y - y.mean()) ** 2).sum()


class History:
    """What the first process notes of each step."""

    def __init__(self):
        self.losses, self.scores = [], []

    def add(self, loss, score):
        self.losses.append(loss)
        self.scores.append(float(score))

    def __str__(self):
        return f"loss {self.losses[-1]:.6f}, R2 {self.scores[-1]:.5f}"


def main(rank, world_size, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = port
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    torch.manual_seed(0)
    x, y = materials()
    sampler = DistributedSampler(TensorDataset(x, y), shuffle=True)
    loader = DataLoader(TensorDataset(x, y), batch_size=32, sampler=sampler)
    model = DistributedDataParallel(Strength())
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    history = History()
    for epoch in range(3):
        sampler.set_epoch(epoch)
        for i, (features, target) in enumerate(loader):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(features), target)
            loss.backward()
            optimizer.step()
            if rank == 0 and i == len(loader) - 1:
                history.add(loss.item(), r_squared(model.module, x, y))
        if rank == 0:
            print(f"epoch {epoch}: {history}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    mp.spawn(main, args=(2, port), nprocs=2)
