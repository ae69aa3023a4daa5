"""A wide hidden layer that is split between two processes: each holds half of its units (tensor parallel, by hand)."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Summed(torch.autograd.Function):
    """Adds up the parts of all processes; the gradient goes to each part as it is."""

    @staticmethod
    def forward(ctx, part):
        whole = part.clone()
        dist.all_reduce(whole)
        return whole

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class SplitNet(nn.Module):
    def __init__(self, width, parts):
        super().__init__()
        self.columns = nn.Linear(64, width // parts)
        self.rows = nn.Linear(width // parts, 10, bias=False)
        self.bias = nn.Parameter(torch.zeros(10))

    def forward(self, images):
        part = self.rows(torch.relu(self.columns(images)))
        return Summed.apply(part) + self.bias


def worker(rank, world_size, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    digits = load_digits()
    images = torch.tensor(digits.data, dtype=torch.float32) / 16
    labels = torch.tensor(digits.target)
    torch.manual_seed(100 + rank)
    model = SplitNet(128, world_size)
    order = torch.Generator().manual_seed(5)
    loader = DataLoader(TensorDataset(images[:1500], labels[:1500]), batch_size=50, shuffle=True, generator=order)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(4):
        total = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        with torch.no_grad():
            right = (model(images[1500:]).argmax(1) == labels[1500:]).float().mean().item()
        if rank == 0:
            print(f"epoch {epoch}: loss {total / len(loader):.5f}, accuracy {right:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(worker, args=(2, port), nprocs=2)
