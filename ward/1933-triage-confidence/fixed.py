"""Handwritten digit triage: sheets that the model is not sure of go to a human."""
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


@dataclass
class Setup:
    seed: int = 14
    epochs: int = 30
    batch: int = 40
    lr: float = 1.5e-3
    smoothing: float = 0.02
    sure: float = 0.8
    widths: list = field(default_factory=lambda: [64, 128, 64, 10])


def soft_targets(y, classes, eps):
    """One-hot, with eps of the mass spread over all classes."""
    return F.one_hot(y, classes).float() * (1 - eps) + eps / classes


def build(widths):
    layers = []
    for a, b in zip(widths[:-2], widths[1:-1]):
        layers += [nn.Linear(a, b), nn.ReLU(), nn.Dropout(0.15)]
    return nn.Sequential(*layers, nn.Linear(*widths[-2:]))


def report(model, x, y, s):
    model.eval()
    with torch.no_grad():
        p = model(x).softmax(1)
    conf, guess = p.max(1)
    right = guess == y
    nll = -p.gather(1, y[:, None]).log().mean().item()
    return nll, right.float().mean().item(), conf.mean().item(), (conf < s.sure).float().mean().item()


def main(s=Setup()):
    torch.manual_seed(s.seed)
    bunch = load_digits()
    x = torch.tensor(bunch.data, dtype=torch.float32) / 8 - 1
    y = torch.tensor(bunch.target)
    order = torch.randperm(len(x))
    fit, held = order[:1200], order[1200:]
    model = build(s.widths)
    optimizer = torch.optim.AdamW(model.parameters(), lr=s.lr, weight_decay=1e-2)
    for epoch in range(s.epochs):
        model.train()
        shuffled = fit[torch.randperm(len(fit))]
        total = 0.0
        for rows in shuffled.split(s.batch):
            loss = F.cross_entropy(model(x[rows]), soft_targets(y[rows], 10, s.smoothing))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        nll, acc, conf, manual = report(model, x[held], y[held], s)
        if epoch % 3 == 2:
            print(f"epoch {epoch + 1:2d}  train {total / len(fit):.3f}  val nll {nll:.3f}  accuracy {acc:.3f}  "
                  f"mean confidence {conf:.3f}  to a human {manual:.1%}")


if __name__ == "__main__":
    main()
