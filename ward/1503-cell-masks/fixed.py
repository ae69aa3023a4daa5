import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIZE = 32


def microscope(rng):
    """A grey picture (uint8) with a few cells, and its mask as painted in the annotation tool."""
    yy, xx = np.mgrid[:SIZE, :SIZE]
    picture, mask = 60 + 12 * rng.normal(size=(SIZE, SIZE)), np.zeros((SIZE, SIZE), np.uint8)
    for _ in range(rng.integers(2, 5)):
        cy, cx, r = rng.uniform(4, SIZE - 4), rng.uniform(4, SIZE - 4), rng.uniform(2.5, 5)
        inside = (yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2
        picture[inside] += rng.uniform(25, 70)
        mask[inside] = 255
    picture += rng.uniform(-20, 20) * (xx / SIZE)
    return np.clip(picture, 0, 255).astype(np.uint8), mask


class CellDataset(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.items = [microscope(rng) for _ in range(n)]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        picture, mask = self.items[i]
        image = torch.from_numpy(picture).float()[None] / 255
        target = torch.from_numpy(mask).float()[None] / 255
        return (image - 0.27) / 0.11, target


class UNet(nn.Module):
    def __init__(self, c=10):
        super().__init__()
        def block(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(),
                                 nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())
        self.down1, self.down2 = block(1, c), block(c, 2 * c)
        self.up = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.merge, self.out = block(2 * c, c), nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.up(self.down2(F.max_pool2d(a, 2)))
        return self.out(self.merge(torch.cat([a, b], 1)))


@torch.no_grad()
def iou(model, loader):
    model.eval()
    inter = union = 0
    for x, y in loader:
        p, t = model(x) > 0, y > 0
        inter += (p & t).sum().item()
        union += (p | t).sum().item()
    return inter / max(union, 1)


def train(epochs=7):
    torch.manual_seed(0)
    train_loader = DataLoader(CellDataset(320, 1), batch_size=16, shuffle=True)
    val_loader = DataLoader(CellDataset(80, 2), batch_size=40)
    model = UNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3, weight_decay=1e-4)
    criterion = nn.BCEWithLogitsLoss()
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print("epoch %d  loss %.4f  val IoU %.3f" % (epoch + 1, total / len(train_loader), iou(model, val_loader)))


if __name__ == "__main__":
    train()
