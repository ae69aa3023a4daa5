"""Digits at double resolution; small micro-batches (laptop), gradients accumulated over several of them."""
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--micro-batch", type=int, default=8)
    ap.add_argument("--accum", type=int, default=8, help="micro-batches per optimizer step")
    ap.add_argument("--lr", type=float, default=0.03)
    ap.add_argument("--momentum", type=float, default=0.9)
    ap.add_argument("--wd", type=float, default=5e-4)
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--seed", type=int, default=2)
    return ap.parse_args()


def load_data(args):
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1)
    x = F.interpolate((x - 4.88) / 6.02, scale_factor=2, mode="bilinear", align_corners=False)
    y = torch.tensor(d.target)
    perm = torch.randperm(len(y))
    x, y = x[perm], y[perm]
    train = TensorDataset(x[:1408], y[:1408])
    test = TensorDataset(x[1408:], y[1408:])
    return DataLoader(train, args.micro_batch, shuffle=True), DataLoader(test, 128)


class BasicBlock(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1)
        self.short = nn.Conv2d(cin, cout, 1, stride)

    def forward(self, x):
        h = self.conv2(F.relu(self.conv1(x)))
        return F.relu(h + self.short(x))


class SmallResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = BasicBlock(1, 12, 2)
        self.layer2 = BasicBlock(12, 24, 2)
        self.fc = nn.Linear(24 * 16, 10)

    def forward(self, x):
        return self.fc(self.layer2(self.layer1(x)).flatten(1))


def train_epoch(model, loader, optimizer, args):
    model.train()
    total = 0.0
    optimizer.zero_grad()
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        if (i + 1) % args.accum == 0:
            optimizer.step()
            optimizer.zero_grad()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def test(model, loader):
    model.eval()
    loss = hit = n = 0
    for x, y in loader:
        out = model(x)
        loss += F.cross_entropy(out, y, reduction="sum").item()
        hit += (out.argmax(1) == y).sum().item()
        n += len(y)
    return loss / n, hit / n


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    train_loader, test_loader = load_data(args)
    model = SmallResNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.wd)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    print(f"{len(train_loader)} micro-batches, {len(train_loader) // args.accum} steps per epoch")
    for epoch in range(1, args.epochs + 1):
        start = time.time()
        tl = train_epoch(model, train_loader, optimizer, args)
        scheduler.step()
        vl, va = test(model, test_loader)
        print(f"epoch {epoch:2d}  train {tl:.4f}  test {vl:.4f}  acc {va:.3f}  ({time.time() - start:.1f}s)")


if __name__ == "__main__":
    main()
