"""Segment small lesions; large pictures leave room for four at a time, so gradients are accumulated."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def synthesise(n, size, seed):
    g = torch.Generator().manual_seed(seed)
    grid = torch.arange(size, dtype=torch.float32)
    yy, xx = torch.meshgrid(grid, grid, indexing="ij")
    masks = torch.zeros(n, 1, size, size)
    for i in range(n):
        for _ in range(int(torch.randint(1, 3, (1,), generator=g))):
            cy, cx = (torch.rand(2, generator=g) * (size - 12) + 6).tolist()
            ry, rx = (torch.rand(2, generator=g) * 2.5 + 2.0).tolist()
            masks[i, 0][((yy - cy) / ry) ** 2 + ((xx - cx) / rx) ** 2 < 1] = 1
    texture = F.avg_pool2d(torch.randn(n, 1, size, size, generator=g), 5, 1, 2) * 2
    images = texture + 1.4 * masks + 0.45 * torch.randn(n, 1, size, size, generator=g)
    return TensorDataset((images - 0.05) / 0.7, masks)


def double(c_in, c_out):
    return nn.Sequential(nn.Conv2d(c_in, c_out, 3, padding=1), nn.GroupNorm(4, c_out), nn.ReLU(),
                         nn.Conv2d(c_out, c_out, 3, padding=1), nn.GroupNorm(4, c_out), nn.ReLU())


class MiniUNet(nn.Module):
    def __init__(self, base=8):
        super().__init__()
        self.down1, self.down2 = double(1, base), double(base, 2 * base)
        self.bottom = double(2 * base, 4 * base)
        self.up2 = nn.ConvTranspose2d(4 * base, 2 * base, 2, 2)
        self.mix2 = double(4 * base, 2 * base)
        self.up1 = nn.ConvTranspose2d(2 * base, base, 2, 2)
        self.mix1 = double(2 * base, base)
        self.out = nn.Conv2d(base, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.bottom(F.max_pool2d(b, 2))
        b = self.mix2(torch.cat([self.up2(c), b], 1))
        a = self.mix1(torch.cat([self.up1(b), a], 1))
        return self.out(a)


def criterion(logits, mask):
    prob = torch.sigmoid(logits)
    overlap = (prob * mask).sum((1, 2, 3))
    dice = (2 * overlap + 1) / (prob.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1)
    return F.binary_cross_entropy_with_logits(logits, mask) + (1 - dice).mean()


@torch.no_grad()
def validate(model, loader):
    model.eval()
    loss, inter, union = 0.0, 0.0, 0.0
    for image, mask in loader:
        logits = model(image)
        loss += criterion(logits, mask).item()
        found = logits > 0
        inter += (found & (mask > 0)).sum().item()
        union += (found | (mask > 0)).sum().item()
    return loss / len(loader), inter / union


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=11)
    ap.add_argument("--accumulate", type=int, default=2)
    ap.add_argument("--lr", type=float, default=3e-3)
    args = ap.parse_args()
    torch.manual_seed(41)
    train = DataLoader(synthesise(480, 40, 1), batch_size=4, shuffle=True)
    val = DataLoader(synthesise(160, 40, 2), batch_size=40)
    model = MiniUNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    for epoch in range(args.epochs):
        model.train()
        running = 0.0
        optimizer.zero_grad()
        for i, (image, mask) in enumerate(train, start=1):
            loss = criterion(model(image), mask)
            (loss / args.accumulate).backward()
            running += loss.item()
            if i % args.accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
        scheduler.step()
        val_loss, iou = validate(model, val)
        print(f"epoch {epoch + 1:2d}: train {running / len(train):.4f} val {val_loss:.4f} IoU {iou:.4f}")


if __name__ == "__main__":
    main()
