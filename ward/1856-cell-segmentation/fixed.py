"""Segment bright cells on a microscope background with a very small U-Net."""
import random

import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

MEAN, STD = 0.33, 0.12


def fake_micrograph(g, size=32):
    """uint8 picture and its mask: a few discs on an uneven background."""
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    background = 55 + 25 * torch.rand(1, generator=g) + 20 * (xx / size) * torch.rand(1, generator=g)
    mask = torch.zeros(size, size)
    for _ in range(int(torch.randint(2, 6, (1,), generator=g))):
        cx, cy = torch.randint(3, size - 3, (2,), generator=g)
        r = 2 + 3.5 * torch.rand(1, generator=g)
        mask = torch.maximum(mask, (((xx - cx) ** 2 + (yy - cy) ** 2) < r ** 2).float())
    image = background + mask * (32 + 20 * torch.rand(1, generator=g)) + 11 * torch.randn(size, size, generator=g)
    return image.clamp(0, 255).to(torch.uint8), mask


class Cells(Dataset):
    def __init__(self, n, seed, train):
        g = torch.Generator().manual_seed(seed)
        self.items = [fake_micrograph(g) for _ in range(n)]
        self.train = train

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        image, mask = self.items[i]
        image, mask = image.float()[None] / 255, mask[None]
        if self.train:
            if random.random() < 0.5:
                image, mask = image.flip(-1), mask.flip(-1)
            if random.random() < 0.5:
                image, mask = image.flip(-2), mask.flip(-2)
        image = (image - MEAN) / STD
        return image, mask


def block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.ReLU(inplace=True),
                         nn.Conv2d(cout, cout, 3, padding=1), nn.ReLU(inplace=True))


class TinyUNet(nn.Module):
    def __init__(self, c=6):
        super().__init__()
        self.enc1, self.enc2, self.mid = block(1, c), block(c, 2 * c), block(2 * c, 4 * c)
        self.dec2, self.dec1 = block(6 * c, 2 * c), block(3 * c, c)
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        e1 = self.enc1(x)
        e2 = self.enc2(F.max_pool2d(e1, 2))
        m = self.mid(F.max_pool2d(e2, 2))
        d2 = self.dec2(torch.cat([F.interpolate(m, scale_factor=2), e2], 1))
        d1 = self.dec1(torch.cat([F.interpolate(d2, scale_factor=2), e1], 1))
        return self.out(d1)


def dice(logits, mask):
    p = (logits > 0).float()
    return (2 * (p * mask).sum() / (p.sum() + mask.sum() + 1e-6)).item()


if __name__ == "__main__":
    random.seed(2)
    torch.manual_seed(2)
    train_loader = DataLoader(Cells(288, 10, train=True), batch_size=16, shuffle=True)
    val_loader = DataLoader(Cells(80, 20, train=False), batch_size=40)
    net = TinyUNet()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(12):
        net.train()
        losses = []
        for image, mask in train_loader:
            loss = F.binary_cross_entropy_with_logits(net(image), mask)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        net.eval()
        with torch.no_grad():
            pairs = [(net(image), mask) for image, mask in val_loader]
        vloss = sum(F.binary_cross_entropy_with_logits(o, m).item() for o, m in pairs) / len(pairs)
        vdice = sum(dice(o, m) for o, m in pairs) / len(pairs)
        print(f"epoch {epoch:2d}  bce {sum(losses) / len(losses):.4f}  val bce {vloss:.4f}  val dice {vdice:.3f}")
