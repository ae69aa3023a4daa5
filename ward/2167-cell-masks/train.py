import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

ACCUM = 8


class Cells(Dataset):
    """Bright round cells on an uneven background, 24x24, with their masks."""

    def __init__(self, n, seed, size=24):
        rng = np.random.default_rng(seed)
        yy, xx = np.mgrid[:size, :size]
        self.img = np.zeros((n, 1, size, size), dtype="float32")
        self.mask = np.zeros_like(self.img)
        for i in range(n):
            img = 0.5 * np.sin(xx / rng.uniform(4, 9) + rng.uniform(0, 6)) + rng.normal(0, 0.4, (size, size))
            for _ in range(rng.integers(1, 4)):
                cy, cx, r = rng.uniform(4, size - 4), rng.uniform(4, size - 4), rng.uniform(2.5, 5)
                inside = (yy - cy) ** 2 + (xx - cx) ** 2 < r * r
                img = img + inside * rng.uniform(1.2, 2.0)
                self.mask[i, 0][inside] = 1
            self.img[i, 0] = (img - img.mean()) / img.std()

    def __len__(self):
        return len(self.img)

    def __getitem__(self, i):
        return self.img[i], self.mask[i]


class TinyUNet(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.down1 = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1), nn.ReLU())
        self.down2 = nn.Sequential(nn.Conv2d(c, 2 * c, 3, padding=1), nn.ReLU(), nn.Conv2d(2 * c, c, 3, padding=1), nn.ReLU())
        self.up = nn.Sequential(nn.Conv2d(2 * c, c, 3, padding=1), nn.ReLU())
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        return self.out(self.up(torch.cat([a, F.interpolate(b, scale_factor=2)], dim=1)))


@torch.no_grad()
def validate(model, loader):
    model.eval()
    loss = inter = union = 0.0
    for img, mask in loader:
        out = model(img)
        loss += F.binary_cross_entropy_with_logits(out, mask).item() / len(loader)
        p = (out > 0).float()
        inter += (p * mask).sum().item()
        union += ((p + mask) > 0).sum().item()
    return loss, inter / union


def main(epochs=10, lr=0.2):
    torch.manual_seed(0)
    train_loader = DataLoader(Cells(896, 0), batch_size=4, shuffle=True)
    val_loader = DataLoader(Cells(256, 1), batch_size=64)
    model = TinyUNet()
    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for i, (img, mask) in enumerate(train_loader):
            loss = F.binary_cross_entropy_with_logits(model(img), mask)
            loss.backward()
            if (i + 1) % ACCUM == 0:
                opt.step()
                opt.zero_grad()
            total += loss.item()
        sched.step()
        vloss, iou = validate(model, val_loader)
        print(f"epoch {epoch + 1:2d}  train bce {total / len(train_loader):.4f}  val bce {vloss:.4f}  IoU {iou:.3f}")


main()
