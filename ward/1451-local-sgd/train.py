"""Local SGD: two workers train by themselves and average their weights every ten steps."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

WORLD, EVERY = 2, 10


def spirals(count=2000):
    g = torch.Generator().manual_seed(0)
    turn = torch.rand(count, generator=g) * 6
    label = torch.randint(0, 2, (count,), generator=g)
    angle = turn + label * torch.pi
    points = torch.stack([turn * torch.cos(angle), turn * torch.sin(angle)], 1) / 6
    return TensorDataset(points + 0.02 * torch.randn(count, 2, generator=g), label)


@torch.no_grad()
def average(model):
    flat = nn.utils.parameters_to_vector(model.parameters())
    dist.all_reduce(flat)
    nn.utils.vector_to_parameters(flat / WORLD, model.parameters())


def worker(rank, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.manual_seed(1)
    data = spirals()
    sampler = DistributedSampler(data)
    loader = DataLoader(data, batch_size=40, sampler=sampler)
    model = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 2))
    average(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    step = 0
    for epoch in range(8):
        sampler.set_epoch(epoch)
        total = 0.0
        for points, label in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(points), label)
            loss.backward()
            optimizer.step()
            step += 1
            if step % EVERY == 0:
                average(model)
            total += loss.item()
        if rank == 0:
            print(f"epoch {epoch}: {total / len(loader):.6f}", flush=True)
    average(model)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(worker, args=(port,), nprocs=WORLD)
