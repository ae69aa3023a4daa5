import argparse
import os
import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

ACTIVITIES = ["walk", "stairs", "run", "cycle"]


def record(rng, kind, length):
    """One six-channel recording (accelerometer and gyroscope) at 50 Hz."""
    t = np.arange(length) / 50.0
    base = [1.8, 1.4, 2.7, 1.0][kind] * rng.uniform(0.9, 1.1)
    amp = [1.0, 1.1, 2.0, 0.6][kind] * rng.uniform(0.8, 1.2)
    phase = rng.uniform(0, 2 * np.pi, 6)
    harm = [0.2, 0.9, 0.5, 0.1][kind]
    sig = [amp * (np.sin(2 * np.pi * base * t + p) + harm * np.sin(4 * np.pi * base * t + 2 * p)) for p in phase]
    return np.stack(sig, 1) + rng.normal(0, 0.4, (length, 6))


def export(folder, count, length, seed):
    rng = np.random.default_rng(seed)
    names = []
    for i in range(count):
        kind = int(rng.integers(len(ACTIVITIES)))
        name = f"{i:04d}_{ACTIVITIES[kind]}.csv"
        np.savetxt(os.path.join(folder, name), record(rng, kind, length), fmt="%.4f", delimiter=",",
                   header="ax,ay,az,gx,gy,gz")
        names.append(name)
    return names


class GaitFolder(Dataset):
    def __init__(self, folder, names):
        self.folder = folder
        self.names = names
        self.signals = [self.read(n) for n in names]
        self.labels = [ACTIVITIES.index(n.split("_")[1][:-4]) for n in names]

    def __len__(self):
        return len(self.names)

    def read(self, name):
        rows = np.loadtxt(os.path.join(self.folder, name), delimiter=",", dtype=np.float32)
        return torch.from_numpy(rows.T.copy())

    def __getitem__(self, index):
        return self.signals[index], self.labels[index]


class ConvNet(nn.Module):
    def __init__(self, channels=6, width=24, classes=len(ACTIVITIES)):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(channels, width, 9, stride=2, padding=4), nn.BatchNorm1d(width), nn.ReLU(),
            nn.Conv1d(width, width, 9, stride=2, padding=4), nn.BatchNorm1d(width), nn.ReLU(),
            nn.AdaptiveAvgPool1d(1), nn.Flatten())
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.features(x))


def run_epoch(net, loader, opt=None):
    net.train(opt is not None)
    loss_sum = right = seen = 0
    with torch.set_grad_enabled(opt is not None):
        for x, y in loader:
            logits = net(x)
            loss = nn.functional.cross_entropy(logits, y)
            if opt is not None:
                opt.zero_grad()
                loss.backward()
                opt.step()
            loss_sum += loss.item() * len(y)
            right += (logits.argmax(1) == y).sum().item()
            seen += len(y)
    return loss_sum / seen, right / seen


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--recordings", type=int, default=480)
    ap.add_argument("--length", type=int, default=256)
    ap.add_argument("--epochs", type=int, default=12)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=4e-3)
    args = ap.parse_args()
    torch.manual_seed(12)

    with tempfile.TemporaryDirectory() as folder:
        names = export(folder, args.recordings, args.length, seed=12)
        cut = args.recordings * 3 // 4
        train_dl = DataLoader(GaitFolder(folder, names[:cut]), batch_size=args.batch_size, shuffle=True)
        val_dl = DataLoader(GaitFolder(folder, names[cut:]), batch_size=60)
        net = ConvNet()
        opt = torch.optim.Adam(net.parameters(), lr=args.lr)
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=args.epochs)
        for epoch in range(1, args.epochs + 1):
            tl, ta = run_epoch(net, train_dl, opt)
            sched.step()
            vl, va = run_epoch(net, val_dl)
            print(f"epoch {epoch}/{args.epochs}  train {tl:.4f} {ta:.3f}  val {vl:.4f} {va:.3f}", flush=True)
