"""An ensemble of three networks, one in each process; they meet only to average what they predict."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from sklearn.datasets import load_breast_cancer
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

MEMBERS = 3


def prepare():
    raw = load_breast_cancer()
    x = torch.tensor(raw.data, dtype=torch.float32)
    y = torch.tensor(raw.target)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    x, y = x[order], y[order]
    train, test = slice(0, 420), slice(420, None)
    mean, std = x[train].mean(0), x[train].std(0)
    x = (x - mean) / std
    return (x[train], y[train]), (x[test], y[test])


def member(rank, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=MEMBERS)
    (x, y), (test_x, test_y) = prepare()
    torch.manual_seed(rank)
    model = nn.Sequential(nn.Linear(30, 24), nn.ReLU(), nn.Dropout(0.2), nn.Linear(24, 2))
    same_order = torch.Generator().manual_seed(3)
    loader = DataLoader(TensorDataset(x, y), batch_size=30, shuffle=True, generator=same_order)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    for epoch in range(8):
        model.train()
        for batch, target in loader:
            loss = nn.functional.cross_entropy(model(batch), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        probabilities = model(test_x).softmax(1)
    alone = (probabilities.argmax(1) == test_y).float().mean().item()
    dist.all_reduce(probabilities)
    together = (probabilities.argmax(1) == test_y).float().mean().item()
    dist.barrier()
    if rank == 0:
        print(f"alone {alone:.4f}, together {together:.4f}, last loss {loss.item():.6f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(member, args=(port,), nprocs=MEMBERS)
