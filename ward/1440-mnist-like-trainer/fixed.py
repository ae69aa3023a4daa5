"""Digits on two processes, with a small trainer class."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

EPOCHS = 4
BATCH = 32


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class DigitNet(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.classifier = nn.Linear(width, 10)

    def forward(self, images):
        return self.classifier(self.encoder(images))


class Trainer:
    def __init__(self, rank, world_size):
        self.rank = rank
        data = load_digits()
        images = torch.tensor(data.data, dtype=torch.float32) / 16.0
        labels = torch.tensor(data.target)
        self.train_set = TensorDataset(images[:1500], labels[:1500])
        self.test = images[1500:], labels[1500:]
        self.sampler = DistributedSampler(self.train_set, num_replicas=world_size, rank=rank)
        self.loader = DataLoader(self.train_set, batch_size=BATCH, sampler=self.sampler)
        self.model = DistributedDataParallel(DigitNet())
        self.net = self.model.module
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.criterion = nn.CrossEntropyLoss()

    def train_epoch(self, epoch):
        self.sampler.set_epoch(epoch)
        self.net.train()
        total = 0.0
        for images, labels in self.loader:
            self.optimizer.zero_grad()
            logits = self.model(images)
            loss = self.criterion(logits, labels)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.loader)

    @torch.no_grad()
    def accuracy(self):
        self.net.eval()
        images, labels = self.test
        return (self.net(images).argmax(1) == labels).float().mean().item()


def worker(rank, world_size, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    torch.manual_seed(3)
    trainer = Trainer(rank, world_size)
    for epoch in range(EPOCHS):
        loss = trainer.train_epoch(epoch)
        accuracy = trainer.accuracy()
        if rank == 0:
            print(f"epoch {epoch}: loss {loss:.4f}, test accuracy {accuracy:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(worker, args=(2, free_port()), nprocs=2)
