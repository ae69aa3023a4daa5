import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def draw_scene(rng, size=24):
    """A noisy picture with one disc or one box, and its mask."""
    yy, xx = np.mgrid[:size, :size]
    cy, cx = rng.uniform(7, size - 7, 2)
    r = rng.uniform(3.5, 6.5)
    if rng.random() < 0.5:
        mask = (yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2
    else:
        mask = (abs(yy - cy) < r) & (abs(xx - cx) < r)
    image = rng.normal(0, 0.5, (size, size)) + mask * rng.uniform(0.8, 1.4)
    return image.astype("float32"), mask.astype("float32")


def make_set(n, seed):
    rng = np.random.default_rng(seed)
    pairs = [draw_scene(rng) for _ in range(n)]
    images = torch.from_numpy(np.stack([p[0] for p in pairs]))[:, None]
    masks = torch.from_numpy(np.stack([p[1] for p in pairs]))[:, None]
    return TensorDataset(images, masks)


def conv_block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.ReLU(inplace=True),
                         nn.Conv2d(cout, cout, 3, padding=1), nn.ReLU(inplace=True))


class TinyUNet(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.enc1 = conv_block(1, width)
        self.enc2 = conv_block(width, 2 * width)
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.dec = conv_block(2 * width, width)
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        a = self.enc1(x)
        b = self.enc2(F.max_pool2d(a, 2))
        return self.out(self.dec(torch.cat([a, self.up(b)], dim=1)))


def iou(logits, masks):
    pred = logits > 0
    truth = masks > 0.5
    inter = (pred & truth).sum().item()
    union = (pred | truth).sum().item()
    return inter / max(union, 1)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    logits, masks = [], []
    for x, m in loader:
        logits.append(model(x))
        masks.append(m)
    logits, masks = torch.cat(logits), torch.cat(masks)
    return F.binary_cross_entropy_with_logits(logits, masks).item(), iou(logits, masks)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=8)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--seed", type=int, default=5)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    train_loader = DataLoader(make_set(800, seed=1), batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(make_set(300, seed=2), batch_size=100)
    model = TinyUNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)

    for epoch in range(1, args.epochs + 1):
        model.train()
        running = 0.0
        for x, m in train_loader:
            loss = F.binary_cross_entropy_with_logits(model(x), m)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item() * len(x)
        scheduler.step()
        val_loss, val_iou = evaluate(model, val_loader)
        print(f"epoch {epoch:2d}  train {running / 800:.4f}  val {val_loss:.4f}  IoU {val_iou:.3f}")


if __name__ == "__main__":
    main()
