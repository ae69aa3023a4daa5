"""Land use of satellite tiles: water, field, forest, town, road.

    python train.py --epochs 8 --lr 0.1 --milestones 6 7
"""
import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def tiles(n, seed):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, 5, (n,), generator=g)
    noise = torch.randn(n, 3, 12, 12, generator=g)
    smooth = nn.functional.avg_pool2d(noise, 3, 1, 1) * 2.5
    yy, xx = torch.meshgrid(torch.arange(12), torch.arange(12), indexing="ij")
    shift = torch.randint(0, 4, (n, 1, 1), generator=g)
    furrows = (((yy + shift) // 2) % 2 * 2.0 - 1).unsqueeze(1)
    blocks = (((yy + shift) // 3 + (xx + shift) // 3) % 2 * 2.0 - 1).unsqueeze(1)
    road = ((xx - yy).abs() <= 1).float()[None, None] * 2.5 * torch.ones(n, 1, 1, 1)
    zero = torch.zeros(n, 1, 12, 12)
    pattern = torch.stack([zero, furrows, zero, blocks, road], 1)[torch.arange(n), kind]
    tone = torch.tensor([[-.2, 0., .2], [.1, .1, 0.], [-.1, .1, -.1], [.1, 0., .1], [0., 0., 0.]])[kind][:, :, None, None]
    rough = torch.where((kind == 2) | (kind == 3), 1.0, 0.0)[:, None, None, None]
    return 0.8 * pattern + tone + rough * noise + (1 - rough) * smooth, kind


def build(width):
    def block(c_in, c_out):
        return [nn.Conv2d(c_in, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU()]
    return nn.Sequential(*block(3, width), nn.MaxPool2d(2), *block(width, 2 * width),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * width, 5))


def get_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=30)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--milestones", type=int, nargs="+", default=[6, 7])
    parser.add_argument("--width", type=int, default=8)
    return parser.parse_args()


def main():
    args = get_args()
    torch.manual_seed(61)
    train_loader = DataLoader(TensorDataset(*tiles(900, 61)), batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(TensorDataset(*tiles(400, 62)), batch_size=200)
    model = build(args.width)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=args.milestones, gamma=0.1)
    for epoch in range(args.epochs):
        model.train()
        loss_sum = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            loss_sum += loss.item()
        scheduler.step()
        model.eval()
        val_loss = val_hits = 0.0
        with torch.no_grad():
            for x, y in val_loader:
                out = model(x)
                val_loss += criterion(out, y).item() / len(val_loader)
                val_hits += (out.argmax(1) == y).sum().item()
        print(f"epoch {epoch:2d} train {loss_sum / len(train_loader):.4f} val {val_loss:.4f} acc {val_hits / 400:.3f}")


if __name__ == "__main__":
    main()
