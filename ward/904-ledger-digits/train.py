"""Digit recogniser for scanned ledgers. The label column came with gaps."""
import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

CONFIG = dict(hidden=48, lr=2e-3, batch=24, epochs=7, seed=3)


def load(cfg):
    digits = load_digits()
    rng = np.random.default_rng(cfg["seed"])
    order = rng.permutation(len(digits.target))
    x = digits.data[order].astype("float32") / 8 - 1
    y = digits.target[order].astype("float64")
    x_val, y_val = x[:450], y[:450].astype("int64")
    x, y = x[450:], y[450:].copy()
    y[rng.random(len(y)) < 0.28] = np.nan            # the clerk's gaps
    return x, y, x_val, y_val


def fill_gaps(x, y):
    y = y.copy()
    for i in range(len(y)):
        if np.isnan(y[i]):
            y[i] = y[i - 1] if i else 0
    return x, y.astype("int64")


class Trainer:
    def __init__(self, cfg):
        torch.manual_seed(cfg["seed"])
        self.cfg = cfg
        x, y, xv, yv = load(cfg)
        x, y = fill_gaps(x, y)
        self.train = torch.utils.data.TensorDataset(torch.from_numpy(x), torch.from_numpy(y))
        self.val = torch.from_numpy(xv), torch.from_numpy(yv)
        self.net = nn.Sequential(nn.Linear(64, cfg["hidden"]), nn.ReLU(), nn.Linear(cfg["hidden"], 10))
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=cfg["lr"], weight_decay=1e-3)
        self.loss = nn.CrossEntropyLoss()

    def epoch(self):
        self.net.train()
        total = 0.0
        loader = torch.utils.data.DataLoader(self.train, batch_size=self.cfg["batch"], shuffle=True)
        for x, y in loader:
            self.opt.zero_grad()
            loss = self.loss(self.net(x), y)
            loss.backward()
            self.opt.step()
            total += loss.item()
        return total / len(loader)

    @torch.no_grad()
    def evaluate(self):
        self.net.eval()
        x, y = self.val
        out = self.net(x)
        return self.loss(out, y).item(), (out.argmax(1) == y).float().mean().item()

    def fit(self):
        for e in range(1, self.cfg["epochs"] + 1):
            train = self.epoch()
            val, acc = self.evaluate()
            print(f"{e:2d}  train {train:.4f}  val {val:.4f}  acc {acc:.3f}")


Trainer(CONFIG).fit()
