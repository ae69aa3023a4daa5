"""Land/water masks from noisy radar tiles with a small U-shaped network."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def tiles(n, size, g):
    """Land is where a smooth random field is positive; land and water differ in texture, hardly in brightness."""
    coarse = torch.randn(n, 1, 5, 5, generator=g)
    field = F.interpolate(coarse, size=size, mode="bicubic", align_corners=True)
    land = (field > 0).float()
    noise = torch.randn(n, 1, size, size, generator=g)
    stripes = torch.sin(torch.arange(size) * 1.6)[None, None, None]
    return 0.6 * noise + land * stripes + 0.3 * land, land


class DoubleConv(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(nn.Conv2d(cin, cout, 3, padding=1), nn.ReLU(), nn.Conv2d(cout, cout, 3, padding=1), nn.ReLU())


class TinyUNet(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.down = DoubleConv(1, ch)
        self.bottom = DoubleConv(ch, 2 * ch)
        self.up = DoubleConv(3 * ch, ch)
        self.out = nn.Conv2d(ch, 1, 1)

    def forward(self, x):
        a = self.down(x)
        b = self.bottom(F.max_pool2d(a, 2))
        b = F.interpolate(b, scale_factor=2.0, mode="nearest")
        return self.out(self.up(torch.cat([a, b], dim=1)))


def iou(logits, mask):
    p = logits > 0
    m = mask > 0.5
    return ((p & m).sum() / (p | m).sum().clamp(min=1)).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--iters", type=int, default=120)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--clip", type=float, default=1.0)
    opts = parser.parse_args()

    torch.manual_seed(71)
    g = torch.Generator().manual_seed(71)
    x, m = tiles(300, 24, g)
    x_val, m_val = tiles(60, 24, g)
    net = TinyUNet()
    sgd = torch.optim.SGD(net.parameters(), lr=opts.lr, momentum=opts.momentum)
    for it in range(1, opts.iters + 1):
        b = torch.randint(0, len(x), (opts.batch,))
        loss = F.binary_cross_entropy_with_logits(net(x[b]), m[b])
        sgd.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), max_norm=opts.clip)
        sgd.step()
        if it % 20 == 0:
            with torch.no_grad():
                logits = net(x_val)
                val = F.binary_cross_entropy_with_logits(logits, m_val).item()
            print(f"iter {it:3d} train bce {loss.item():.4f} val bce {val:.4f} iou {iou(logits, m_val):.3f}")


if __name__ == "__main__":
    main()
