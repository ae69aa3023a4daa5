"""Segment ponds in 16 x 16 elevation tiles with a small encoder-decoder."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset


def tiles(n, seed, size=16):
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    cx, cy = (torch.rand(2, n, 1, 1, generator=g) - 0.5)
    rx, ry = torch.rand(2, n, 1, 1, generator=g) * 0.4 + 0.25
    dist = ((xx - cx) / rx) ** 2 + ((yy - cy) / ry) ** 2
    mask = (dist < 1).float()
    slope = torch.randn(n, 1, 1, generator=g) * xx + torch.randn(n, 1, 1, generator=g) * yy
    image = slope - 0.9 * mask + 0.5 * torch.randn(n, size, size, generator=g)
    return image.unsqueeze(1), mask.unsqueeze(1)


class MiniUNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.down1 = nn.Conv2d(1, c, 3, padding=1)
        self.down2 = nn.Conv2d(c, 2 * c, 3, padding=1)
        self.mid = nn.Conv2d(2 * c, 2 * c, 3, padding=2, dilation=2)
        self.up = nn.Conv2d(3 * c, c, 3, padding=1)
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = F.relu(self.down1(x))
        b = F.relu(self.down2(F.max_pool2d(a, 2)))
        b = F.relu(self.mid(b))
        b = F.interpolate(b, scale_factor=2)
        return self.out(F.relu(self.up(torch.cat([a, b], 1))))


def soft_dice(logits, mask):
    p = torch.sigmoid(logits)
    inter = (p * mask).sum((1, 2, 3))
    return (1 - (2 * inter + 1) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1)).mean()


def criterion(logits, mask):
    return F.binary_cross_entropy_with_logits(logits, mask) + soft_dice(logits, mask)


def iou(logits, mask):
    p, m = logits > 0, mask > 0
    return ((p & m).sum() / (p | m).sum()).item()


if __name__ == "__main__":
    torch.manual_seed(30)
    train = DataLoader(TensorDataset(*tiles(360, 1)), batch_size=18, shuffle=True)
    x_val, m_val = tiles(100, 2)
    net = MiniUNet()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    scheduler = LambdaLR(optimizer, lambda epoch: 0.85 ** epoch)
    for epoch in range(7):
        net.train()
        loss_sum = 0.0
        for x, m in train:
            optimizer.zero_grad()
            loss = criterion(net(x), m)
            loss.backward()
            optimizer.step()
            loss_sum += loss.item()
        scheduler.step()
        net.eval()
        with torch.no_grad():
            out = net(x_val)
        print(f"epoch {epoch + 1}: loss {loss_sum / len(train):.4f}, val loss {criterion(out, m_val):.4f}, "
              f"val IoU {iou(out, m_val):.3f}")
