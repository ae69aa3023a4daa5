from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


@dataclass
class Config:
    hidden: int = 96
    lr: float = 6e-4
    weight_decay: float = 1e-3
    dropout: float = 0.3
    epochs: int = 28
    batch: int = 16
    seed: int = 5


def annotate(truth, skill, rng):
    """What the five paid annotators ticked for each picture: (n, 5)."""
    sheets = []
    for s in skill:
        slip = rng.random(len(truth)) > s
        guess = (truth + rng.integers(1, 10, len(truth))) % 10
        sheets.append(np.where(slip, guess, truth))
    return np.stack(sheets, 1)


class Digits:
    def __init__(self, cfg):
        rng = np.random.default_rng(cfg.seed)
        X, truth = load_digits(return_X_y=True)
        votes = annotate(truth, skill=[0.70, 0.97, 0.98, 0.97, 0.98], rng=rng)
        y = votes[:, 0]
        X = (X / 16 - 0.3).astype("float32") / 0.38
        parts = train_test_split(X, y, test_size=0.25, random_state=cfg.seed)
        self.x_train, self.x_val, self.y_train, self.y_val = map(torch.as_tensor, parts)


class Trainer:
    def __init__(self, cfg):
        torch.manual_seed(cfg.seed)
        self.cfg, self.data = cfg, Digits(cfg)
        self.model = nn.Sequential(nn.Linear(64, cfg.hidden), nn.ReLU(), nn.Dropout(cfg.dropout),
                                   nn.Linear(cfg.hidden, cfg.hidden), nn.ReLU(), nn.Dropout(cfg.dropout),
                                   nn.Linear(cfg.hidden, 10))
        self.loss = nn.CrossEntropyLoss()
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)

    def fit(self):
        d = self.data
        for epoch in range(self.cfg.epochs):
            self.model.train()
            losses = []
            for idx in torch.randperm(len(d.y_train)).split(self.cfg.batch):
                loss = self.loss(self.model(d.x_train[idx]), d.y_train[idx])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                losses.append(loss.item())
            val_loss, val_acc = self.validate()
            print(f"[{epoch:02d}] train_loss={np.mean(losses):.3f} val_loss={val_loss:.3f} val_acc={val_acc:.3f}")

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        out = self.model(self.data.x_val)
        return self.loss(out, self.data.y_val).item(), (out.argmax(1) == self.data.y_val).float().mean().item()


if __name__ == "__main__":
    Trainer(Config()).fit()
