"""Contrastive embedding of digit scans: two degraded views of one scan belong together."""
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier


@dataclass
class Plan:
    epochs: int = 40
    batch: int = 64
    temperature: float = 0.2
    lr: float = 1e-3
    width: int = 128
    seed: int = 29


class Encoder(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.project = nn.Linear(width, 32)

    def forward(self, x):
        return F.normalize(self.project(self.backbone(x)), dim=1)


def view(x, gen=None):
    """Hide a random fifth of the pixels and add noise."""
    keep = (torch.rand(x.shape, generator=gen) > 0.2).float()
    return x * keep + 0.25 * torch.randn(x.shape, generator=gen)


def info_nce(a, b, temperature):
    logits = a @ b.T / temperature
    target = torch.arange(len(a))
    return 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target))


def validation_loss(model, x, plan):
    gen = torch.Generator().manual_seed(0)
    with torch.no_grad():
        parts = [info_nce(model(view(c, gen)), model(view(c, gen)), plan.temperature)
                 for c in x.split(plan.batch) if len(c) == plan.batch]
    return torch.stack(parts).mean().item()


def neighbour_accuracy(model, train, val):
    with torch.no_grad():
        a, b = model.backbone(train[0]).numpy(), model.backbone(val[0]).numpy()
    return KNeighborsClassifier(5).fit(a, train[1]).score(b, val[1])


def main(plan):
    torch.manual_seed(plan.seed)
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(plan.seed).permutation(len(X))
    X = torch.tensor((X[order] - 4.9) / 6.0, dtype=torch.float32)
    y = y[order]
    train, val = (X[:1280], y[:1280]), (X[1280:], y[1280:])
    model = Encoder(plan.width)
    optimizer = torch.optim.AdamW(model.parameters(), lr=plan.lr, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, plan.epochs)
    for epoch in range(1, plan.epochs + 1):
        model.train()
        losses = []
        for idx in torch.randperm(len(train[0])).split(plan.batch):
            x = train[0][idx]
            loss = info_nce(model(view(x)), model(view(x)), plan.temperature)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        schedule.step()
        model.eval()
        if epoch % 4 == 0:
            print(f"epoch {epoch:2d} train {np.mean(losses):.4f} val {validation_loss(model, val[0], plan):.4f} "
                  f"5-NN accuracy {neighbour_accuracy(model, train, val):.4f}")


if __name__ == "__main__":
    main(Plan())
