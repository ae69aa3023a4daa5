"""Household power for the next hour from the last day; three processes, each with its part of the meters."""

import math
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

WORLD = 3


class Meters(Dataset):
    """Windows of hourly readings."""

    def __init__(self, first, last, hours=24 * 14):
        self.windows = []
        for meter in range(first, last):
            g = torch.Generator().manual_seed(meter)
            t = torch.arange(hours)
            load = 0.5 + 0.3 * torch.sin(2 * math.pi * (t + meter) / 24) + 0.05 * torch.randn(hours, generator=g)
            if meter == 13:
                load[200] = load[199]
            self.windows += [(load[i : i + 24], load[i + 24 : i + 25]) for i in range(0, hours - 25, 6)]

    def __len__(self):
        return len(self.windows)

    def __getitem__(self, i):
        return self.windows[i]


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, readings):
        return self.layers(readings)


def main(rank, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.manual_seed(rank)
    each = 6
    data = Meters(rank * each, (rank + 1) * each)
    loader = DataLoader(data, batch_size=16, shuffle=True, drop_last=True)
    model = DistributedDataParallel(Forecast())
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(4):
        total = 0.0
        for readings, following in loader:
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(readings), following)
            loss.backward()
            optimizer.step()
            total += loss.item()
        if rank == 0:
            print(f"epoch {epoch}: {total / len(loader):.6f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(main, args=(port,), nprocs=WORLD)
