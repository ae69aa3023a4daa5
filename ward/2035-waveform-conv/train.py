import math

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

KINDS = ["sine", "square", "saw", "triangle", "chirp", "pulse"]
HP = dict(batch_size=32, lr=0.02, momentum=0.9, epochs=24, milestones=[1, 2, 3], gamma=0.1)


def wave(kind, t, freq, phase):
    p = (t * freq + phase) % 1.0
    if kind == "sine":
        return np.sin(2 * math.pi * p)
    if kind == "square":
        return np.sign(0.5 - p)
    if kind == "saw":
        return 2 * p - 1
    if kind == "triangle":
        return 4 * abs(p - 0.5) - 1
    if kind == "chirp":
        return np.sin(2 * math.pi * (freq * t * (1 + t) + phase))
    return (p < 0.2) * 2.0 - 1


def synthesise(n, seed):
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, 96, endpoint=False)
    labels = rng.integers(len(KINDS), size=n)
    rows = [wave(KINDS[k], t, rng.uniform(2, 5), rng.random()) * rng.uniform(0.7, 1.3) for k in labels]
    signal = np.stack(rows) + rng.normal(0, 0.4, (n, 96))
    return TensorDataset(torch.tensor(signal, dtype=torch.float32)[:, None], torch.tensor(labels))


def build_net():
    return nn.Sequential(
        nn.Conv1d(1, 16, 7, padding=3), nn.ReLU(), nn.MaxPool1d(2),
        nn.Conv1d(16, 32, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
        nn.Conv1d(32, 32, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(4),
        nn.Flatten(), nn.Linear(128, len(KINDS)))


def train_epoch(net, loader, loss_fn, opt):
    net.train()
    total, count = 0.0, 0
    for x, y in loader:
        opt.zero_grad()
        loss = loss_fn(net(x), y)
        loss.backward()
        opt.step()
        total += loss.item() * len(y)
        count += len(y)
    return total / count


def evaluate(net, loader, loss_fn):
    net.eval()
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in loader:
            out = net(x)
            total += loss_fn(out, y).item() * len(y)
            right += (out.argmax(1) == y).sum().item()
            count += len(y)
    return total / count, right / count


def main():
    torch.manual_seed(4)
    train_loader = DataLoader(synthesise(2000, 10), batch_size=HP["batch_size"], shuffle=True)
    val_loader = DataLoader(synthesise(800, 11), batch_size=200)
    net = build_net()
    loss_fn = nn.CrossEntropyLoss()
    opt = torch.optim.SGD(net.parameters(), lr=HP["lr"], momentum=HP["momentum"], weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.MultiStepLR(opt, milestones=HP["milestones"], gamma=HP["gamma"])
    for epoch in range(HP["epochs"]):
        train_loss = train_epoch(net, train_loader, loss_fn, opt)
        sched.step()
        val_loss, val_acc = evaluate(net, val_loader, loss_fn)
        print(f"epoch {epoch + 1:2d}: train {train_loss:.4f}, val {val_loss:.4f}, val acc {val_acc:.3f}")


if __name__ == "__main__":
    main()
