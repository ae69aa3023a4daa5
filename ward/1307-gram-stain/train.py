"""Segment stained bacteria on small slides: 0 background, 1 violet (positive), 2 pink (negative)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

VIOLET, PINK, PAPER = np.array([105, 60, 170.0]), np.array([215, 95, 120.0]), np.array([232, 222, 214.0])
SIZE = 32
MEAN, STD = np.array([0.86, 0.80, 0.79], "float32"), np.array([0.14, 0.20, 0.12], "float32")


def paint_slide(rng):
    """A slide on disk, as the microscope software stores it: BGR, uint8."""
    yy, xx = np.mgrid[:SIZE, :SIZE]
    img = np.ones((SIZE, SIZE, 3)) * (PAPER + rng.normal(0, 6, 3))
    mask = np.zeros((SIZE, SIZE), "int64")
    for _ in range(rng.integers(3, 7)):
        kind = rng.integers(1, 3)
        cy, cx, ang = rng.uniform(3, SIZE - 3), rng.uniform(3, SIZE - 3), rng.uniform(0, np.pi)
        a, b = rng.uniform(3, 5.5), rng.uniform(1.8, 2.6)
        u = (xx - cx) * np.cos(ang) + (yy - cy) * np.sin(ang)
        v = -(xx - cx) * np.sin(ang) + (yy - cy) * np.cos(ang)
        inside = (u / a) ** 2 + (v / b) ** 2 < 1
        img[inside] = (VIOLET if kind == 1 else PINK) + rng.normal(0, 14, 3)
        mask[inside] = kind
    img += rng.normal(0, 12, img.shape)
    return img.clip(0, 255).astype("uint8")[..., ::-1], mask


class Slides(Dataset):
    def __init__(self, n, seed, augment=None):
        rng = np.random.default_rng(seed)
        self.items = [paint_slide(rng) for _ in range(n)]
        self.rng = rng
        self.augment = augment

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        img, mask = self.items[i]
        if self.augment:
            img, mask = self.augment(img, mask, self.rng)
        return img, mask


def flips(img, mask, rng):
    img = img[..., ::-1]
    if rng.random() < 0.5:
        img, mask = img[:, ::-1], mask[:, ::-1]
    if rng.random() < 0.5:
        img, mask = img[::-1], mask[::-1]
    return img, mask


def collate(items):
    imgs = np.stack([(img.astype("float32") / 255 - MEAN) / STD for img, _ in items])
    masks = np.stack([mask for _, mask in items])
    return torch.from_numpy(imgs).permute(0, 3, 1, 2), torch.from_numpy(masks)


class TinyUNet(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        block = lambda i, o: nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.GroupNorm(4, o), nn.ReLU())
        self.d1, self.d2, self.u1 = block(3, c), block(c, 2 * c), block(3 * c, c)
        self.out = nn.Conv2d(c, 3, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        return self.out(self.u1(torch.cat([a, F.interpolate(b, scale_factor=2)], 1)))


def iou_per_class(pred, mask):
    return [((pred == k) & (mask == k)).sum().item() / max(1, ((pred == k) | (mask == k)).sum().item()) for k in range(3)]


def main():
    torch.manual_seed(2)
    train_dl = DataLoader(Slides(400, 10, flips), 16, shuffle=True, collate_fn=collate)
    val_dl = DataLoader(Slides(120, 11), 60, collate_fn=collate)
    net = TinyUNet()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(8):
        net.train()
        total = 0.0
        for x, m in train_dl:
            loss = F.cross_entropy(net(x), m)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        net.eval()
        with torch.no_grad():
            outs, masks = zip(*[(net(x), m) for x, m in val_dl])
        out, mask = torch.cat(outs), torch.cat(masks)
        ious = " ".join(f"{v:.3f}" for v in iou_per_class(out.argmax(1), mask))
        print(f"epoch {epoch}: train {total / len(train_dl):.4f}  val {F.cross_entropy(out, mask):.4f}  IoU bg/violet/pink {ious}")


if __name__ == "__main__":
    main()
