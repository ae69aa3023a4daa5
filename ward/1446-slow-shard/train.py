"""Tones and chirps told apart; each rank reads its own shard of recordings."""

import math
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset

WORLD = 2
RATE = 2000


class Recordings(Dataset):
    """Short recordings; some were made at a higher rate and are brought down when they are read."""

    def __init__(self, count, rank, world):
        g = torch.Generator().manual_seed(5)
        kinds = torch.randint(0, 2, (count,), generator=g)
        pitch = 60 + 200 * torch.rand(count, generator=g)
        seeds = torch.randint(0, 2**31, (count,), generator=g)
        high = torch.arange(count) % world == world - 1
        order = torch.arange(count)[rank::world]
        self.items = [(int(kinds[i]), float(pitch[i]), int(seeds[i]), bool(high[i])) for i in order]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        kind, pitch, seed, high = self.items[i]
        g = torch.Generator().manual_seed(seed)
        times = 24 if high else 1
        t = torch.arange(RATE // 4 * times) / (RATE * times)
        sweep = 300 * t * t if kind else torch.zeros_like(t)
        wave = torch.sin(2 * math.pi * (pitch * t + sweep)) + 0.3 * torch.randn(t.shape, generator=g)
        if times > 1:
            kernel = torch.hann_window(8 * times + 1)
            kernel = kernel / kernel.sum()
            wave = nn.functional.conv1d(wave[None, None], kernel[None, None], padding=4 * times)[0, 0, ::times]
        return wave, kind


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv1d(1, 8, 32, stride=8), nn.ReLU(), nn.Conv1d(8, 16, 8, stride=4), nn.ReLU())
        self.head = nn.Linear(16, 2)

    def forward(self, wave):
        return self.head(self.net(wave[:, None]).mean(-1))


def train(rank, port):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.manual_seed(11 + rank)
    loader = DataLoader(Recordings(1600, rank, WORLD), batch_size=16, shuffle=True)
    model = DDP(Listener())
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(2):
        total = 0.0
        for wave, kind in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(wave), kind)
            loss.backward()
            optimizer.step()
            total += loss.item()
        if rank == 0:
            print(f"epoch {epoch}: {total / len(loader):.5f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
    s.close()
    mp.spawn(train, args=(port,), nprocs=WORLD)
