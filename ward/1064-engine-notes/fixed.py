"""Which of seven engines is running? MLP on spectra; the learning rate is lowered when the score stops improving."""
import argparse
import logging

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("engines")


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=14)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--factor", type=float, default=0.2)
    p.add_argument("--patience", type=int, default=1)
    return p.parse_args()


def spectra(n, seed, engines=7, bins=40):
    fixed = torch.Generator().manual_seed(500)
    base = torch.randn(engines, 3, bins, generator=fixed)            # every engine has three running states
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, engines, (n,), generator=g)
    state = torch.randint(0, 3, (n,), generator=g)
    x = base[y, state] + 1.3 * torch.randn(n, bins, generator=g)
    return TensorDataset(x / 1.64, y)


def evaluate(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
            total += len(y)
    return right / total


def main():
    args = get_args()
    torch.manual_seed(41)
    train_loader = DataLoader(spectra(2400, seed=1), batch_size=80, shuffle=True)
    val_loader = DataLoader(spectra(800, seed=2), batch_size=400)
    model = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 7))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.5)
    scheduler = ReduceLROnPlateau(optimizer, mode="max", factor=args.factor, patience=args.patience)

    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        accuracy = evaluate(model, val_loader)
        scheduler.step(accuracy)
        log.info("epoch %2d  loss %.4f  val accuracy %.4f  lr %.2e", epoch, total / len(train_loader), accuracy, optimizer.param_groups[0]["lr"])


if __name__ == "__main__":
    main()
