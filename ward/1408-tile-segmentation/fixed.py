"""Land cover segmentation of small aerial tiles (water / soil / vegetation / road)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIZE = 24
CLASSES = ("water", "soil", "vegetation", "road")
# typical colours as stored by the camera (blue, green, red)
COLOURS = np.array([[120, 80, 45], [60, 95, 140], [55, 115, 70], [105, 105, 108]], dtype="float32")
MEAN, STD = [90.0, 100.0, 85.0], [45.0, 32.0, 35.0]


def shoot_tile(rng):
    """returns uint8 picture HxWx3 in camera order and the mask"""
    centres = rng.uniform(0, SIZE, (5, 2))
    kinds = rng.integers(0, 3, 5)
    yy, xx = np.mgrid[:SIZE, :SIZE]
    near = ((yy[..., None] - centres[:, 0]) ** 2 + (xx[..., None] - centres[:, 1]) ** 2).argmin(-1)
    mask = kinds[near]
    if rng.random() < 0.7:
        slope, start = rng.uniform(-0.8, 0.8), rng.uniform(4, SIZE - 4)
        mask[np.abs(yy - start - slope * (xx - SIZE / 2)) < 1.6] = 3
    light = rng.uniform(0.75, 1.25)
    pic = COLOURS[mask] * light + rng.normal(0, 16, (SIZE, SIZE, 3))
    return pic.clip(0, 255).astype("uint8"), mask


class Tiles(Dataset):
    def __init__(self, n, seed, augment):
        rng = np.random.default_rng(seed)
        self.raw = [shoot_tile(rng) for _ in range(n)]
        self.augment = augment
        self.rng = np.random.default_rng(seed + 100)

    def __len__(self):
        return len(self.raw)

    def __getitem__(self, i):
        pic, mask = self.raw[i]
        if self.augment:
            if self.rng.random() < 0.5:
                pic, mask = pic[::-1], mask[::-1]
            if self.rng.random() < 0.5:
                pic, mask = pic[:, ::-1], mask[:, ::-1]
        pic = pic[..., ::-1]
        pic = (pic.astype("float32") - MEAN) / STD
        pic = torch.tensor(np.ascontiguousarray(pic.transpose(2, 0, 1)), dtype=torch.float32)
        return {"image": pic, "mask": torch.tensor(np.ascontiguousarray(mask))}


def block(a, b):
    return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU())


class SmallUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1, self.d2 = block(3, 12), block(12, 24)
        self.up = block(36, 16)
        self.head = nn.Conv2d(16, len(CLASSES), 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        b = F.interpolate(b, scale_factor=2, mode="bilinear", align_corners=False)
        return self.head(self.up(torch.cat([a, b], 1)))


def mean_iou(pred, mask):
    scores = []
    for c in range(len(CLASSES)):
        inter = ((pred == c) & (mask == c)).sum().item()
        union = ((pred == c) | (mask == c)).sum().item()
        scores.append(inter / max(union, 1))
    return sum(scores) / len(scores)


def train():
    torch.manual_seed(2)
    train_dl = DataLoader(Tiles(480, 0, augment=True), batch_size=16, shuffle=True)
    val_dl = DataLoader(Tiles(120, 1, augment=False), batch_size=60)
    net = SmallUNet()
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    for epoch in range(10):
        net.train()
        losses = []
        for b in train_dl:
            opt.zero_grad()
            loss = F.cross_entropy(net(b["image"]), b["mask"])
            loss.backward()
            opt.step()
            losses.append(loss.item())
        net.eval()
        with torch.no_grad():
            outs = [(net(b["image"]), b["mask"]) for b in val_dl]
        vl = sum(F.cross_entropy(o, m).item() for o, m in outs) / len(outs)
        iou = mean_iou(torch.cat([o.argmax(1) for o, _ in outs]), torch.cat([m for _, m in outs]))
        print(f"epoch {epoch + 1:2d} | train {np.mean(losses):.4f} | val {vl:.4f} | mIoU {iou:.3f}")


if __name__ == "__main__":
    train()
