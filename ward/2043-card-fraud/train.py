"""Flag fraudulent card payments from aggregated features."""
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn
from sklearn.model_selection import train_test_split


@dataclass
class Config:
    n: int = 20000
    fraud_share: float = 0.04
    hidden: list = field(default_factory=lambda: [16, 8])
    lr: float = 2e-3
    weight_decay: float = 1e-3
    epochs: int = 12
    batch: int = 128


def prepare(cfg):
    rng = np.random.default_rng(9)
    y = (rng.random(cfg.n) < cfg.fraud_share).astype(int)
    X = rng.normal(0, 1, (cfg.n, 8))
    X[:, :4] += y[:, None] * np.array([0.8, 0.7, -0.6, 0.5])
    X = np.exp(0.3 * X) * np.array([40, 5, 12, 1, 3, 90, 2, 7])
    Xt, Xv, yt, yv = train_test_split(X, y, test_size=0.33, stratify=y, random_state=9)
    Xt, Xv = np.log(Xt), np.log(Xv)
    mu, sd = Xt.mean(0), Xt.std(0)
    f = lambda a: torch.tensor((a - mu) / sd, dtype=torch.float32)
    g = lambda a: torch.tensor(a, dtype=torch.float32)
    return f(Xt), g(yt), f(Xv), g(yv)


def mlp(inputs, hidden):
    layers, width = [], inputs
    for h in hidden:
        layers += [nn.Linear(width, h), nn.ReLU(), nn.Dropout(0.1)]
        width = h
    return nn.Sequential(*layers, nn.Linear(width, 1), nn.Flatten(0))


def report(model, X, y):
    model.eval()
    with torch.no_grad():
        flagged = model(X) > 0
    fraud = y > 0.5
    accuracy = (flagged == fraud).float().mean()
    recall = flagged[fraud].float().mean()
    balanced = (recall + (~flagged[~fraud]).float().mean()) / 2
    return f"val acc {accuracy:.3f}  balanced acc {balanced:.3f}  recall {recall:.3f}  flagged {flagged.sum().item()}"


def train(cfg):
    torch.manual_seed(77)
    Xt, yt, Xv, yv = prepare(cfg)
    model = mlp(Xt.shape[1], cfg.hidden)
    loss_fn = nn.BCEWithLogitsLoss()
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    for epoch in range(cfg.epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(yt)).split(cfg.batch):
            loss = loss_fn(model(Xt[idx]), yt[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            val_loss = loss_fn(model(Xv), yv)
        print(f"epoch {epoch + 1:2d}  train {total / len(yt):.4f}  val {val_loss:.4f}  {report(model, Xv, yv)}")


if __name__ == "__main__":
    train(Config())
