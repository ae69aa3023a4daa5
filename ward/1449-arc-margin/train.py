"""Embeddings of digits with an angular-margin loss that has class centres of its own; two workers."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


class Embedder(nn.Module):
    def __init__(self, size=16):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())
        self.fc = nn.Linear(16 * 16, size)

    def forward(self, images):
        return F.normalize(self.fc(self.conv(images).flatten(1)))


class MarginLoss(nn.Module):
    """Cosine to the centre of each class; the right one is made a bit harder."""

    def __init__(self, size=16, classes=10, scale=12.0, margin=0.1):
        super().__init__()
        self.centres = nn.Parameter(torch.randn(classes, size) * 0.3)
        self.scale, self.margin = scale, margin

    def forward(self, embeddings, labels):
        cosine = embeddings @ F.normalize(self.centres).t()
        cosine = cosine - self.margin * F.one_hot(labels, cosine.shape[1])
        return F.cross_entropy(self.scale * cosine, labels)

    def predict(self, embeddings):
        return (embeddings @ F.normalize(self.centres).t()).argmax(1)


def digits():
    raw = load_digits()
    images = torch.tensor(raw.images, dtype=torch.float32)[:, None] / 16
    return TensorDataset(images, torch.tensor(raw.target))


def worker(rank, world_size, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    torch.manual_seed(21)
    data = digits()
    sampler = DistributedSampler(data, seed=21)
    loader = DataLoader(data, batch_size=32, sampler=sampler, drop_last=True)
    model = DDP(Embedder())
    criterion = MarginLoss()
    parameters = [*model.parameters(), *criterion.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=3e-3)
    for epoch in range(4):
        sampler.set_epoch(epoch)
        losses = []
        for images, labels in loader:
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        if rank == 0:
            print(f"epoch {epoch}: loss {sum(losses) / len(losses):.6f}", flush=True)
    if rank == 0:
        torch.save({"embedder": model.module.state_dict(), "loss": criterion.state_dict()}, "digits.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(worker, args=(2, port), nprocs=2)
