"""Two stages of one network in two processes: the first sends its activations on, the second sends gradients back."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from sklearn.datasets import load_digits
from torch import nn

BATCH, WIDTH, EPOCHS = 50, 64, 4


class Front(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))

    def forward(self, x):
        return self.layers(x)


class Back(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 10))

    def forward(self, hidden):
        return self.layers(hidden)


def batches(epoch):
    digits = load_digits()
    images = torch.tensor(digits.data, dtype=torch.float32) / 16
    labels = torch.tensor(digits.target)
    order = torch.randperm(1500, generator=torch.Generator().manual_seed(epoch))
    for chunk in order.split(BATCH):
        yield images[chunk], labels[chunk]


def first_stage():
    torch.manual_seed(0)
    model = Front()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(EPOCHS):
        for images, _ in batches(epoch):
            hidden = model(images)
            dist.send(hidden.detach().contiguous(), dst=1)
            gradient = torch.empty_like(hidden)
            dist.recv(gradient, src=1)
            optimizer.zero_grad()
            hidden.backward(gradient)
            optimizer.step()


def second_stage():
    torch.manual_seed(1)
    model = Back()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(EPOCHS):
        total, count = 0.0, 0
        for _, labels in batches(epoch):
            hidden = torch.empty(len(labels), WIDTH)
            dist.recv(hidden, src=0)
            hidden.requires_grad_()
            loss = nn.functional.cross_entropy(model(hidden), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            dist.send(hidden.grad, dst=0)
            total, count = total + loss.item(), count + 1
        print(f"epoch {epoch}: {total / count:.5f}", flush=True)


def stage(rank, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    (first_stage if rank == 0 else second_stage)()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(stage, args=(port,), nprocs=2)
