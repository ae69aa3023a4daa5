"""Find thin scratches on metal plates: per-pixel segmentation with a small fully convolutional net."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

PRIOR = 0.03          # share of scratch pixels
SIZE = 32


class Plates(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        rows = torch.arange(SIZE).view(1, SIZE, 1).float()
        cols = torch.arange(SIZE).view(1, 1, SIZE).float()
        angle = torch.rand(n, 1, 1, generator=g) * math.pi
        off = (torch.rand(n, 1, 1, generator=g) - 0.5) * 20
        dist = (rows - 15.5) * torch.cos(angle) + (cols - 15.5) * torch.sin(angle) - off
        along = -(rows - 15.5) * torch.sin(angle) + (cols - 15.5) * torch.cos(angle)
        length = 8 + 8 * torch.rand(n, 1, 1, generator=g)
        self.mask = ((dist.abs() < 0.9) & (along.abs() < length)).float().unsqueeze(1)
        shade = 0.5 * torch.sin(rows / 5 + 6 * torch.rand(n, 1, 1, generator=g)) * torch.ones(1, 1, SIZE)
        noise = 0.5 * torch.randn(n, SIZE, SIZE, generator=g)
        self.image = (shade + noise).unsqueeze(1) + 1.6 * self.mask

    def __len__(self):
        return len(self.image)

    def __getitem__(self, i):
        return self.image[i], self.mask[i]


def conv(i, o, d=1):
    return nn.Conv2d(i, o, 3, padding=d, dilation=d)


class ScratchNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.features = nn.Sequential(conv(1, width), nn.ReLU(), conv(width, width, 2), nn.ReLU(),
                                      conv(width, width, 3), nn.ReLU())
        self.classifier = nn.Conv2d(width, 1, 1)
        self.init_weights()

    def init_weights(self):
        bias = -math.log((1 - PRIOR) / PRIOR)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.xavier_uniform_(m.weight)
                nn.init.constant_(m.bias, bias)

    def forward(self, x):
        return self.classifier(self.features(x))


def dice(logits, mask):
    p = (logits > 0).float()
    return (2 * (p * mask).sum() / (p.sum() + mask.sum() + 1e-6)).item()


@torch.no_grad()
def validate(net, loader):
    net.eval()
    outs, masks = zip(*[(net(x), m) for x, m in loader])
    outs, masks = torch.cat(outs), torch.cat(masks)
    return F.binary_cross_entropy_with_logits(outs, masks).item(), dice(outs, masks)


def main():
    torch.manual_seed(2)
    train = DataLoader(Plates(320, seed=1), batch_size=16, shuffle=True)
    val = DataLoader(Plates(120, seed=2), batch_size=60)
    net = ScratchNet()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(10):
        net.train()
        total = 0.0
        for image, mask in train:
            loss = F.binary_cross_entropy_with_logits(net(image), mask)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        vl, vd = validate(net, val)
        print(f"epoch {epoch + 1:2d}  bce {total / len(train):.4f}  val bce {vl:.4f}  val dice {vd:.3f}")


if __name__ == "__main__":
    main()
