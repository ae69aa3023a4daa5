"""Segmentation of round cells on a textured background (32x32 toy version of the microscopy set)."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader


class Cells(Dataset):
    def __init__(self, n, seed):
        rng = np.random.RandomState(seed)
        yy, xx = np.mgrid[:32, :32]
        self.img = np.zeros((n, 1, 32, 32), np.float32)
        self.mask = np.zeros((n, 1, 32, 32), np.float32)
        for i in range(n):
            bg = 0.25 * np.sin(xx * rng.uniform(0.1, 0.6) + rng.uniform(0, 6)) + 0.25 * np.sin(yy * rng.uniform(0.1, 0.6))
            m = np.zeros((32, 32), bool)
            for _ in range(rng.randint(1, 5)):
                cx, cy, r = rng.uniform(4, 28), rng.uniform(4, 28), rng.uniform(3, 6)
                m |= (xx - cx) ** 2 + ((yy - cy) * rng.uniform(0.8, 1.25)) ** 2 < r * r
            self.img[i, 0] = bg + m * rng.uniform(0.7, 1.3) + rng.normal(0, 0.35, (32, 32))
            self.mask[i, 0] = m
        self.img = (self.img - 0.2) / 0.65

    def __len__(self):
        return len(self.img)

    def __getitem__(self, i):
        return {"image": torch.from_numpy(self.img[i]), "mask": torch.from_numpy(self.mask[i])}


def conv(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.ReLU(inplace=True), nn.Conv2d(cout, cout, 3, padding=1), nn.ReLU(inplace=True))


class TinyUNet(nn.Module):
    def __init__(self, c=6):
        super().__init__()
        self.down1 = conv(1, c)
        self.down2 = conv(c, 2 * c)
        self.bottom = conv(2 * c, 2 * c)
        self.up2 = conv(4 * c, c)
        self.up1 = conv(2 * c, c)
        self.out = nn.Conv2d(c, 1, 1)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(self.pool(a))
        z = self.bottom(self.pool(b))
        z = self.up2(torch.cat([self.up(z), b], 1))
        z = self.up1(torch.cat([self.up(z), a], 1))
        return self.out(z)


def weights_init(m):
    if isinstance(m, nn.Conv2d):
        nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
        nn.init.zeros_(m.bias)


def iou(logits, mask):
    p = logits > 0
    t = mask > 0.5
    return ((p & t).sum() / (p | t).sum().clamp(min=1)).item()


if __name__ == "__main__":
    torch.manual_seed(5)
    train_loader = DataLoader(Cells(240, 1), batch_size=16, shuffle=True)
    val_loader = DataLoader(Cells(96, 2), batch_size=96)
    net = TinyUNet()
    net.apply(weights_init)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

    for epoch in range(1, 16):
        net.train()
        losses = []
        for batch in train_loader:
            optimizer.zero_grad()
            loss = criterion(net(batch["image"]), batch["mask"])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        net.eval()
        with torch.no_grad():
            for batch in val_loader:
                out = net(batch["image"])
                vloss, viou = criterion(out, batch["mask"]).item(), iou(out, batch["mask"])
        print("Epoch {:2d} | train BCE {:.4f} | val BCE {:.4f} | val IoU {:.3f}".format(epoch, np.mean(losses), vloss, viou))
