"""Which runway light is out? Small CNN, learning rate lowered when validation stalls."""
import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--images", type=int, default=2400)
    p.add_argument("--val-share", type=float, default=0.002)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--lr", type=float, default=6e-4)
    p.add_argument("--epochs", type=int, default=8)
    return p.parse_args()


def make_images(n, g):
    """A strip of eight lamps seen from the tower; one is dark."""
    dark = torch.randint(8, (n,), generator=g)
    img = 0.7 * torch.randn(n, 1, 8, 16, generator=g)
    for k in range(8):
        lit = (dark != k).float()
        img[:, 0, 3:5, 2 * k:2 * k + 2] += 1.1 * lit[:, None, None]
    return img, dark


def build():
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(),
        nn.Conv2d(8, 12, 3, stride=2, padding=1), nn.ReLU(),
        nn.Flatten(), nn.Linear(12 * 4 * 8, 8),
    )


def main():
    args = get_args()
    torch.manual_seed(6)
    g = torch.Generator().manual_seed(6)
    full = TensorDataset(*make_images(args.images, g))
    n_val = int(args.images * args.val_share)
    train_set, val_set = random_split(full, [args.images - n_val, n_val], generator=g)
    test_x, test_y = make_images(500, g)
    train = DataLoader(train_set, batch_size=args.batch, shuffle=True)
    val = DataLoader(val_set, batch_size=200)
    net, ce = build(), nn.CrossEntropyLoss()
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode="max", factor=0.1, patience=1)
    for epoch in range(args.epochs):
        net.train()
        total = 0.0
        for x, y in train:
            loss = ce(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        net.eval()
        with torch.no_grad():
            outs = [(net(x), y) for x, y in val]
        val_loss = sum(ce(o, y).item() * len(y) for o, y in outs) / n_val
        acc = sum((o.argmax(1) == y).sum().item() for o, y in outs) / n_val
        sched.step(acc)
        print(f"epoch {epoch} train {total / len(train):.3f} val {val_loss:.3f} acc {acc:.3f} lr {opt.param_groups[0]['lr']:.1e}")
    with torch.no_grad():
        print(f"test acc {(net(test_x).argmax(1) == test_y).float().mean().item():.3f}")


if __name__ == "__main__":
    main()
