"""Synchronous SGD written out by hand, after the distributed tutorial."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class Net(nn.Module):
    """Predicts the two coordinates of an arm's end from its four joint angles."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, 2)

    def forward(self, x):
        x = torch.tanh(self.fc1(x))
        x = torch.tanh(self.fc2(x))
        return self.fc3(x)


class Partition:
    """The share of the data that belongs to one rank."""

    def __init__(self, x, y, rank, size):
        self.x, self.y = x[rank::size], y[rank::size]

    def batches(self, generator, count=50):
        for chunk in torch.randperm(len(self.x), generator=generator).split(count):
            yield self.x[chunk], self.y[chunk]


def arm(angles):
    reach = torch.cumsum(angles, dim=1)
    return torch.stack([torch.cos(reach).sum(1), torch.sin(reach).sum(1)], dim=1) / 2


def average_gradients(model):
    size = float(dist.get_world_size())
    for param in model.parameters():
        dist.all_reduce(param.grad.data, op=dist.ReduceOp.SUM)
        param.grad.data /= size


def run(rank, size):
    everything = torch.Generator().manual_seed(1234)
    angles = torch.rand(2000, 4, generator=everything) * 2 - 1
    partition = Partition(angles, arm(angles), rank, size)
    torch.manual_seed(1234 + rank)
    order = torch.Generator().manual_seed(rank)
    model = Net()
    for param in model.parameters():
        dist.broadcast(param.data, src=0)
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(6):
        epoch_loss, batches = 0.0, 0
        for x, y in partition.batches(order):
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            epoch_loss += loss.item()
            batches += 1
            loss.backward()
            average_gradients(model)
            optimizer.step()
        print(f"Rank {rank}, epoch {epoch}: {epoch_loss / batches:.6f}", flush=True)


def init_process(rank, size, port, fn, backend="gloo"):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group(backend, rank=rank, world_size=size)
    fn(rank, size)
    dist.destroy_process_group()


if __name__ == "__main__":
    probe = socket.socket()
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
    probe.close()
    size = 2
    mp.set_start_method("spawn")
    processes = [mp.Process(target=init_process, args=(rank, size, port, run)) for rank in range(size)]
    for p in processes:
        p.start()
    for p in processes:
        p.join()
