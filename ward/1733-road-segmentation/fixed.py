import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

CLASSES = ("ground", "building", "water")
SIZE = 32


def draw_tile(rng):
    """Aerial tile with rectangles (buildings) and discs (water), and its annotation as saved in the PNG."""
    yy, xx = np.mgrid[:SIZE, :SIZE]
    mask = np.zeros((SIZE, SIZE), dtype=np.uint8)
    for _ in range(rng.integers(1, 4)):
        h, w = rng.integers(6, 13, 2)
        top, left = rng.integers(0, SIZE - h), rng.integers(0, SIZE - w)
        mask[top:top + h, left:left + w] = 1
    cy, cx, r = rng.integers(6, SIZE - 6), rng.integers(6, SIZE - 6), rng.integers(4, 8)
    mask[(yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2] = 2
    colour = np.array([[0.35, 0.45, 0.25], [0.55, 0.45, 0.42], [0.25, 0.38, 0.50]])
    img = colour[mask] + rng.normal(0, 0.10, (SIZE, SIZE, 3)) + rng.normal(0, 0.05, 3)
    # annotators outline each object by a one pixel contour
    edge = np.zeros_like(mask, dtype=bool)
    edge[1:] |= mask[1:] != mask[:-1]
    edge[:, 1:] |= mask[:, 1:] != mask[:, :-1]
    mask[edge] = 255
    return img.clip(0, 1).astype(np.float32), mask


class Tiles(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        tiles = [draw_tile(rng) for _ in range(n)]
        self.images = torch.from_numpy(np.stack([t[0] for t in tiles])).permute(0, 3, 1, 2).contiguous()
        self.images = (self.images - 0.4) / 0.15
        self.masks = torch.from_numpy(np.stack([t[1] for t in tiles])).long()

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i], self.masks[i]


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.BatchNorm2d(cout), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, n_classes, c=8):
        super().__init__()
        self.down1, self.down2, self.mid = block(3, c), block(c, 2 * c), block(2 * c, 4 * c)
        self.up2, self.up1 = block(6 * c, 2 * c), block(3 * c, c)
        self.head = nn.Conv2d(c, n_classes, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        m = self.mid(F.max_pool2d(b, 2))
        b = self.up2(torch.cat([b, F.interpolate(m, scale_factor=2.0)], 1))
        a = self.up1(torch.cat([a, F.interpolate(b, scale_factor=2.0)], 1))
        return self.head(a)


@torch.no_grad()
def per_class_accuracy(net, loader):
    net.eval()
    hit, total = torch.zeros(len(CLASSES)), torch.zeros(len(CLASSES))
    for img, mask in loader:
        pred = net(img).argmax(1)
        for c in range(len(CLASSES)):
            hit[c] += (pred[mask == c] == c).sum()
            total[c] += (mask == c).sum()
    return hit / total


def main():
    torch.manual_seed(12)
    train_dl = DataLoader(Tiles(320, 1), batch_size=16, shuffle=True)
    val_dl = DataLoader(Tiles(80, 2), batch_size=40)
    net = UNet(len(CLASSES))
    criterion = nn.CrossEntropyLoss(ignore_index=255)
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(8):
        net.train()
        total = 0.0
        for img, mask in train_dl:
            opt.zero_grad()
            loss = criterion(net(img), mask)
            loss.backward()
            opt.step()
            total += loss.item()
        acc = per_class_accuracy(net, val_dl)
        print(f"epoch {epoch} loss {total / len(train_dl):.4f} "
              + " ".join(f"{n} {a:.3f}" for n, a in zip(CLASSES, acc)))


if __name__ == "__main__":
    main()
