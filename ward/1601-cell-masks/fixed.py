"""Segment round cells in small noisy microscope tiles."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

CONFIG = {
    "seed": 2,
    "tiles": 400,
    "size": 16,
    "batch_size": 16,
    "epochs": 15,
    "lr": 0.05,
    "momentum": 0.9,
    "weight_decay": 1e-4,
    "width": 8,
}


def make_tiles(n, size, seed):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:size, 0:size]
    images = np.zeros((n, 1, size, size), np.float32)
    masks = np.zeros((n, 1, size, size), np.float32)
    for i in range(n):
        for _ in range(rng.integers(1, 4)):
            cy, cx, r = rng.uniform(3, size - 3), rng.uniform(3, size - 3), rng.uniform(2, 4.5)
            disc = (yy - cy) ** 2 + (xx - cx) ** 2 < r * r
            masks[i, 0][disc] = 1
            images[i, 0][disc] = rng.uniform(0.6, 1.4)
        images[i, 0] += rng.normal(0, 0.45, (size, size)) + 0.02 * (xx - size / 2)
    images = (images - images.mean()) / images.std()
    return torch.from_numpy(images), torch.from_numpy(masks)


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.ReLU(), nn.Conv2d(cout, cout, 3, padding=1), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.down1, self.down2, self.mid = block(1, w), block(w, 2 * w), block(2 * w, 2 * w)
        self.up2, self.up1 = block(4 * w, w), block(2 * w, w)
        self.head = nn.Conv2d(w, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.mid(F.max_pool2d(b, 2))
        u = self.up2(torch.cat([F.interpolate(c, scale_factor=2), b], 1))
        u = self.up1(torch.cat([F.interpolate(u, scale_factor=2), a], 1))
        return self.head(u)


def dice(logits, mask):
    pred = (logits > 0).float()
    return (2 * (pred * mask).sum() / (pred.sum() + mask.sum() + 1e-6)).item()


def main(cfg):
    torch.manual_seed(cfg["seed"])
    images, masks = make_tiles(cfg["tiles"], cfg["size"], cfg["seed"])
    n_train = int(0.8 * cfg["tiles"])
    net = UNet(cfg["width"])
    opt = torch.optim.SGD(net.parameters(), lr=cfg["lr"], momentum=cfg["momentum"], weight_decay=cfg["weight_decay"])
    for epoch in range(cfg["epochs"]):
        net.train()
        total = 0.0
        batches = torch.randperm(n_train).split(cfg["batch_size"])
        for ids in batches:
            loss = F.binary_cross_entropy_with_logits(net(images[ids]), masks[ids])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        net.eval()
        with torch.no_grad():
            out = net(images[n_train:])
            val = F.binary_cross_entropy_with_logits(out, masks[n_train:]).item()
        print(f"epoch {epoch + 1:2d} | train {total / len(batches):.4f} | val {val:.4f} | dice {dice(out, masks[n_train:]):.3f}")


if __name__ == "__main__":
    main(CONFIG)
