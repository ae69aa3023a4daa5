"""Leaf segmentation with a tiny U-Net; micro-batches because of the memory of the old card."""
import torch
import torch.nn as nn
import torch.nn.functional as F

MICRO, ACCUMULATE = 4, 8


def leaves(n, size=24, seed=0):
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
    r = lambda lo, hi: lo + (hi - lo) * torch.rand(n, 1, 1, generator=g)
    cy, cx, a, b, th = r(8, 16), r(8, 16), r(5, 9), r(2.5, 5), r(0, 3.14)
    u = (xx - cx) * th.cos() + (yy - cy) * th.sin()
    v = (yy - cy) * th.cos() - (xx - cx) * th.sin()
    mask = ((u / a) ** 2 + (v / b) ** 2 < 1).float()
    texture = 0.45 * torch.randn(n, size, size, generator=g)
    img = (mask * r(0.7, 1.4) + r(-0.3, 0.3) + texture - 0.3) / 0.9
    return img.unsqueeze(1), mask.unsqueeze(1)


class UNet(nn.Module):
    def __init__(self, c=10):
        super().__init__()
        conv = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.ReLU(), nn.Conv2d(o, o, 3, padding=1), nn.ReLU())
        self.down1, self.down2 = conv(1, c), conv(c, 2 * c)
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.last = conv(2 * c, c)
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        return self.out(self.last(torch.cat([a, self.up(b)], 1)))


def iou(logits, mask):
    p, m = logits > 0, mask > 0.5
    return ((p & m).sum() / (p | m).sum().clamp(min=1)).item()


def train_epoch(model, optimizer, x, y):
    model.train()
    total = 0.0
    parts = torch.randperm(len(x)).split(MICRO)
    optimizer.zero_grad()
    for i, rows in enumerate(parts, 1):
        loss = F.binary_cross_entropy_with_logits(model(x[rows]), y[rows])
        loss.backward()
        if i % ACCUMULATE == 0:
            optimizer.step()
            optimizer.zero_grad()
        total += loss.item()
    return total / len(parts)


def main():
    torch.manual_seed(5)
    x, y = leaves(480, seed=1)
    xv, yv = leaves(200, seed=2)
    model = UNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 14)
    for epoch in range(1, 15):
        loss = train_epoch(model, optimizer, x, y)
        scheduler.step()
        model.eval()
        with torch.no_grad():
            out = model(xv)
        v = F.binary_cross_entropy_with_logits(out, yv).item()
        print(f"epoch {epoch:2d}: train {loss:.4f}, val {v:.4f}, IoU {iou(out, yv):.3f}")


if __name__ == "__main__":
    main()
