"""Wine quality classes from chemical measurements; made to run on several workers."""

import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from sklearn.datasets import load_wine
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset


class Wines(Dataset):
    def __init__(self, copies=8):
        wine = load_wine()
        x = torch.tensor(wine.data, dtype=torch.float32)
        x = (x - x.mean(0)) / x.std(0)
        noise = torch.Generator().manual_seed(7)
        self.x = torch.cat([x + 0.2 * torch.randn(x.shape, generator=noise) for _ in range(copies)])
        self.y = torch.tensor(wine.target).repeat(copies)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def setup(rank, world_size, port):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=world_size)


def cleanup():
    dist.destroy_process_group()


def build_model():
    return nn.Sequential(nn.Linear(13, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 3))


def train(rank, args, port):
    setup(rank, args.workers, port)
    torch.manual_seed(args.seed)
    model = DDP(build_model())
    dataset = Wines()
    loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True, drop_last=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        model.train()
        seen, right, total = 0, 0, 0.0
        for x, y in loader:
            output = model(x)
            loss = criterion(output, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(y)
            right += (output.argmax(1) == y).sum().item()
            seen += len(y)
        if rank == 0:
            print(f"epoch {epoch + 1}: loss {total / seen:.5f}, accuracy {right / seen:.4f}", flush=True)
    cleanup()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with socket.socket() as s:
        s.bind(("localhost", 0))
        port = s.getsockname()[1]
    mp.spawn(train, args=(args, port), nprocs=args.workers, join=True)


if __name__ == "__main__":
    main()
