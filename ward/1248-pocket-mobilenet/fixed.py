"""Depthwise separable net for 8x8 digits that should fit on a microcontroller."""
import argparse

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


def scaled(channels, mult):
    return max(1, round(channels * mult))


def conv_bn(cin, cout, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


def conv_dw(cin, cout, stride=1):
    return nn.Sequential(
        nn.Conv2d(cin, cin, 3, stride, 1, groups=cin, bias=False), nn.BatchNorm2d(cin), nn.ReLU(inplace=True),
        nn.Conv2d(cin, cout, 1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class PocketNet(nn.Module):
    def __init__(self, width_mult, classes=10):
        super().__init__()
        c = [scaled(n, width_mult) for n in (12, 24, 32)]
        self.features = nn.Sequential(conv_bn(1, c[0]), conv_dw(c[0], c[1], 2), conv_dw(c[1], c[2], 2))
        self.classifier = nn.Linear(c[2], classes)

    def forward(self, x):
        return self.classifier(self.features(x).mean((2, 3)))


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    total = hits = n = 0
    with torch.set_grad_enabled(optimizer is not None):
        for x, y in loader:
            out = model(x)
            loss = criterion(out, y)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    return total / n, hits / n


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--width-mult", type=float, default=1.0)
    ap.add_argument("--lr", type=float, default=2e-2)
    ap.add_argument("--epochs", type=int, default=9)
    opt = ap.parse_args()
    torch.manual_seed(31)
    data = load_digits()
    x = torch.tensor(data.images, dtype=torch.float32)[:, None] / 8 - 1
    y = torch.tensor(data.target)
    perm = torch.randperm(len(y))
    x, y = x[perm], y[perm]
    train = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=50, shuffle=True)
    test = DataLoader(TensorDataset(x[1400:], y[1400:]), batch_size=200)
    model = PocketNet(opt.width_mult)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=opt.lr)
    for epoch in range(opt.epochs):
        loss, acc = run_epoch(model, train, criterion, optimizer)
        vloss, vacc = run_epoch(model, test, criterion)
        print(f"{epoch + 1}/{opt.epochs}  loss {loss:.4f} acc {acc:.3f}  test loss {vloss:.4f} acc {vacc:.3f}")


main()
