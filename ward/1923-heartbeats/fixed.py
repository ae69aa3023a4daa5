import math

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def synth_beats(n=2400, length=96, seed=5):
    """Four kinds of beats with jitter, baseline wander and electrode noise."""
    g = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, 1, length)
    kind = torch.randint(0, 4, (n,), generator=g)
    u = lambda: torch.rand(n, 1, generator=g)
    centre, width = 0.45 + 0.1 * u(), 0.02 + 0.015 * u()
    qrs = torch.exp(-((t - centre) / width) ** 2)
    p = 0.25 * torch.exp(-((t - centre + 0.18) / 0.03) ** 2)
    tw = 0.35 * torch.exp(-((t - centre - 0.25) / 0.06) ** 2)
    wide = torch.exp(-((t - centre) / (2.6 * width)) ** 2)
    shapes = torch.stack([p + qrs + tw, qrs + tw, p + qrs - tw, wide - 0.5 * tw])
    beat = shapes[kind, torch.arange(n)] * (0.8 + 0.4 * u())
    wander = 0.3 * torch.sin(2 * math.pi * (t * (0.5 + u()) + u()))
    return (beat + wander + 0.13 * torch.randn(n, length, generator=g)).unsqueeze(1), kind


class Beats(Dataset):
    def __init__(self, train=True, holdout=0.25):
        x, y = synth_beats()
        order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
        cut = int(len(x) * (1 - holdout))
        keep = order[:cut] if train else order[cut:]
        self.x, self.y = x[keep], y[keep]

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Trainer:
    def __init__(self, model, train_set, val_set, lr=2e-3, epochs=12):
        self.model, self.epochs = model, epochs
        self.train_dl = DataLoader(train_set, batch_size=48, shuffle=True)
        self.val_dl = DataLoader(val_set, batch_size=200)
        self.opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=1e-2)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, epochs)
        self.ce = nn.CrossEntropyLoss()

    def fit(self):
        for ep in range(self.epochs):
            self.model.train()
            losses = []
            for x, y in self.train_dl:
                loss = self.ce(self.model(x), y)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                losses.append(loss.item())
            self.sched.step()
            vl, acc = self.validate()
            print(f"[{ep + 1}/{self.epochs}] loss={sum(losses) / len(losses):.4f} val_loss={vl:.4f} val_acc={acc:.4f}")

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        vl, ok = 0.0, 0
        for x, y in self.val_dl:
            out = self.model(x)
            vl += self.ce(out, y).item() * len(y)
            ok += (out.argmax(1) == y).sum().item()
        return vl / len(self.val_dl.dataset), ok / len(self.val_dl.dataset)


if __name__ == "__main__":
    torch.manual_seed(1)
    net = nn.Sequential(
        nn.Conv1d(1, 16, 7, padding=3), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2),
        nn.Conv1d(16, 32, 5, padding=2), nn.BatchNorm1d(32), nn.ReLU(), nn.MaxPool1d(2),
        nn.Conv1d(32, 32, 3, padding=1), nn.BatchNorm1d(32), nn.ReLU(),
        nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Dropout(0.3), nn.Linear(128, 4))
    Trainer(net, Beats(train=True), Beats(train=False)).fit()
