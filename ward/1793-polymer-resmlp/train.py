"""Glass-transition temperature of polymers from descriptors: a deep residual MLP."""
import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def descriptors(n, seed):
    """Synthetic descriptor table with a smooth nonlinear response (Friedman-like)."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(n, 8))
    tg = (2.0 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 1.5 * x[:, 2] ** 2 + x[:, 3] - 0.8 * x[:, 4]
          + 0.7 * np.tanh(3 * x[:, 5]) + 0.3 * rng.normal(size=n))
    return x.astype("float32"), tg.astype("float32")


class ResidualBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1 = nn.Linear(width, width)
        self.fc2 = nn.Linear(width, width)

    def forward(self, x):
        h = torch.relu(self.fc1(x))
        return x + self.fc2(h)


class PropertyNet(nn.Module):
    def __init__(self, n_in, width, depth):
        super().__init__()
        self.stem = nn.Linear(n_in, width)
        self.blocks = nn.Sequential(*[ResidualBlock(width) for _ in range(depth)])
        self.head = nn.Linear(width, 1)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
                nn.init.zeros_(m.bias)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x))).squeeze(-1)


def get_data(args):
    x, t = descriptors(args.samples, args.seed)
    n = int(0.8 * len(t))
    mean, std = t[:n].mean(), t[:n].std()
    t = (t - mean) / std
    train = TensorDataset(torch.from_numpy(x[:n]), torch.from_numpy(t[:n]))
    val = TensorDataset(torch.from_numpy(x[n:]), torch.from_numpy(t[n:]))
    return DataLoader(train, batch_size=args.batch, shuffle=True), DataLoader(val, batch_size=500)


def run_epoch(model, loader, loss_fn, optimizer=None):
    model.train(optimizer is not None)
    total, n = 0.0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for x, t in loader:
            loss = loss_fn(model(x), t)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(t)
            n += len(t)
    return total / n


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--samples", type=int, default=6000)
    p.add_argument("--batch", type=int, default=100)
    p.add_argument("--width", type=int, default=48)
    p.add_argument("--depth", type=int, default=10)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--epochs", type=int, default=14)
    p.add_argument("--seed", type=int, default=4)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    train, val = get_data(args)
    model = PropertyNet(8, args.width, args.depth)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    loss_fn = nn.MSELoss()
    for epoch in range(1, args.epochs + 1):
        tr = run_epoch(model, train, loss_fn, optimizer)
        va = run_epoch(model, val, loss_fn)
        scheduler.step()
        print(f"epoch {epoch:2d}: train mse {tr:.5g}, val mse {va:.5g}")


if __name__ == "__main__":
    main()
