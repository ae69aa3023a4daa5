"""Flowers on two processes, done by the book: sampler, set_epoch, wrapper, evaluation everywhere, logging on the first."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from sklearn.datasets import make_classification
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def loaders(rank, world_size):
    x, y = make_classification(2101, 24, n_informative=12, n_classes=4, class_sep=1.6, random_state=3)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    x = (x - x[:1611].mean(0)) / x[:1611].std(0)
    train, held_out = TensorDataset(x[:1611], y[:1611]), TensorDataset(x[1611:], y[1611:])
    sampler = DistributedSampler(train, num_replicas=world_size, rank=rank, shuffle=True, seed=9)
    return sampler, DataLoader(train, batch_size=32, sampler=sampler), DataLoader(held_out, batch_size=100)


def evaluate(model, loader):
    model.eval()
    loss, right, seen = 0.0, 0, 0
    with torch.no_grad():
        for x, y in loader:
            logits = model(x)
            loss += nn.functional.cross_entropy(logits, y, reduction="sum").item()
            right += (logits.argmax(1) == y).sum().item()
            seen += len(y)
    model.train()
    return loss / seen, right / seen


def worker(rank, world_size, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    torch.manual_seed(50 + rank)
    sampler, train_loader, test_loader = loaders(rank, world_size)
    net = nn.Sequential(nn.Linear(24, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 4))
    model = DDP(net)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(5):
        sampler.set_epoch(epoch)
        for step, (x, y) in enumerate(train_loader):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            if step % 10 == 0:
                mean = loss.detach().clone()
                dist.all_reduce(mean)
                if rank == 0:
                    print(f"epoch {epoch} step {step}: {mean.item() / world_size:.5f}", flush=True)
        value, accuracy = evaluate(model.module, test_loader)
        if rank == 0:
            print(f"epoch {epoch}: held-out loss {value:.5f}, accuracy {accuracy:.4f}", flush=True)
            torch.save(model.module.state_dict(), "last.pt")
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(worker, args=(2, port), nprocs=2)
