"""Sensor quality grading with DDP. Started plainly, the script launches one process per worker itself."""
import os
import socket
import subprocess
import sys

import torch
import torch.distributed as dist
from sklearn.datasets import make_classification
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, DistributedSampler

WORKERS = 2
LOCAL_RANK = int(os.environ.get("LOCAL_RANK", 0))


def launch():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    procs = []
    for rank in range(WORKERS):
        env = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(WORKERS), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
        procs.append(subprocess.Popen([sys.executable, os.path.abspath(__file__)], env=env))
    codes = [p.wait() for p in procs]
    sys.exit(max(codes))


class Readings(Dataset):
    def __init__(self, train):
        x, y = make_classification(n_samples=4000, n_features=24, n_informative=12, n_redundant=4, n_classes=4,
                                   n_clusters_per_class=2, class_sep=1.6, flip_y=0.02, random_state=6)
        rows = slice(0, 3200) if train else slice(3200, 4000)
        self.x, self.y = torch.tensor(x[rows], dtype=torch.float32) / 2, torch.tensor(y[rows])

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Grader(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(24, 96), nn.ReLU(), nn.Dropout(0.2), nn.Linear(96, 48), nn.ReLU(),
                                    nn.Linear(48, 4))

    def forward(self, x):
        return self.layers(x)


def train():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(40)
    data, held_out = Readings(train=True), Readings(train=False)
    sampler = DistributedSampler(data, num_replicas=world, rank=LOCAL_RANK, shuffle=True, seed=40)
    loader = DataLoader(data, batch_size=32, sampler=sampler)
    val_loader = DataLoader(held_out, batch_size=400)

    model = DDP(Grader())
    torch.manual_seed(40 + rank)
    optim = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    epochs = 18
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(optim, T_max=epochs)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        model.train()
        total = 0.0
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optim.zero_grad()
            loss.backward()
            optim.step()
            total += loss.item()
        sched.step()
        if rank == 0:
            model.eval()
            with torch.no_grad():
                outs = torch.cat([model.module(x) for x, _ in val_loader])
            vl = nn.functional.cross_entropy(outs, held_out.y).item()
            acc = (outs.argmax(1) == held_out.y).float().mean().item()
            print(f"epoch {epoch:2d}: train {total / len(loader):.4f} val {vl:.4f} accuracy {acc:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        train()
    else:
        launch()
