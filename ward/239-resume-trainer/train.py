import argparse
import os
import tempfile

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import make_friedman1


class Trainer:
    def __init__(self, model, train_dl, val_dl, lr, path):
        self.model, self.train_dl, self.val_dl, self.path = model, train_dl, val_dl, path
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss_fn = nn.MSELoss()
        self.epoch = 0

    def train_epoch(self):
        self.model.train()
        total = 0.0
        for x, y in self.train_dl:
            self.optimizer.zero_grad()
            loss = self.loss_fn(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(x)
        return total / len(self.train_dl.dataset)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        return sum(self.loss_fn(self.model(x), y).item() * len(x) for x, y in self.val_dl) / len(self.val_dl.dataset)

    def save(self):
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "epoch": self.epoch}, self.path)

    def load(self):
        ck = torch.load(self.path, weights_only=True)
        self.model.load_state_dict(ck["model"])
        self.optimizer.load_state_dict(ck["optimizer"])
        self.epoch = ck["epoch"]

    def fit(self, until):
        while self.epoch < until:
            tr = self.train_epoch()
            self.epoch += 1
            print(f"epoch {self.epoch:2d} train {tr:.4f} val {self.validate():.4f}")
            self.save()


def build():
    return nn.Sequential(nn.Linear(10, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=14)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--batch-size", type=int, default=64)
    args = ap.parse_args()
    torch.manual_seed(0)
    X, y = make_friedman1(n_samples=3000, noise=1.0, random_state=0)
    X, y = torch.tensor(X).float(), torch.tensor(y).float().unsqueeze(1)
    mx, sx, my, sy = X[:2200].mean(0), X[:2200].std(0), y[:2200].mean(), y[:2200].std()
    X, y = (X - mx) / sx, (y - my) / sy
    train_dl = DataLoader(TensorDataset(X[:2200], y[:2200]), batch_size=args.batch_size, shuffle=True)
    val_dl = DataLoader(TensorDataset(X[2200:], y[2200:]), batch_size=400)
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "last.pt")
        Trainer(build(), train_dl, val_dl, args.lr, path).fit(args.epochs // 2)
        resumed = Trainer(build(), train_dl, val_dl, args.lr, path)
        resumed.load()
        print("resumed at epoch", resumed.epoch)
        resumed.fit(args.epochs)


if __name__ == "__main__":
    main()
