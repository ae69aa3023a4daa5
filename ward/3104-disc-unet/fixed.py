import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class CellImages(Dataset):
    """Bright discs (cells) on an uneven background; the mask marks the discs."""

    def __init__(self, n, size=32, seed=0):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        self.images, self.masks = [], []
        for _ in range(n):
            mask = torch.zeros(size, size)
            for _ in range(int(torch.randint(2, 5, (1,), generator=g))):
                cy, cx = torch.randint(4, size - 4, (2,), generator=g).tolist()
                r = 3 + 4 * torch.rand(1, generator=g).item()
                mask = torch.maximum(mask, ((yy - cy) ** 2 + (xx - cx) ** 2 < r * r).float())
            a, b = (torch.rand(2, generator=g) - 0.5).tolist()
            image = 1.5 * mask + a * yy / size + b * xx / size + 1.0 * torch.randn(size, size, generator=g)
            self.images.append((image - image.mean()) / image.std())
            self.masks.append(mask)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.images[i][None], self.masks[i][None]


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(),
                         nn.Conv2d(o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.d1, self.d2, self.mid = block(1, c), block(c, 2 * c), block(2 * c, 4 * c)
        self.up2, self.u2 = nn.ConvTranspose2d(4 * c, 2 * c, 2, 2), block(4 * c, 2 * c)
        self.up1, self.u1 = nn.ConvTranspose2d(2 * c, c, 2, 2), block(2 * c, c)
        self.out = nn.Conv2d(c, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(F.max_pool2d(a, 2))
        m = self.mid(F.max_pool2d(b, 2))
        y = self.u2(torch.cat([self.up2(m), b], 1))
        y = self.u1(torch.cat([self.up1(y), a], 1))
        return self.out(y)


class SegTrainer:
    def __init__(self, model, train, val, lr, epochs):
        self.model, self.epochs = model, epochs
        self.train_loader = DataLoader(train, batch_size=16, shuffle=True)
        self.val_loader = DataLoader(val, batch_size=50)
        self.opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=1e-4)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, epochs)

    def loss(self, logits, mask):
        p = torch.sigmoid(logits)
        dice = 1 - (2 * (p * mask).sum() + 1) / (p.sum() + mask.sum() + 1)
        return F.binary_cross_entropy_with_logits(logits, mask) + dice

    def fit(self):
        for epoch in range(self.epochs):
            self.model.train()
            tot = 0.0
            for img, mask in self.train_loader:
                self.opt.zero_grad()
                loss = self.loss(self.model(img), mask)
                loss.backward()
                self.opt.step()
                tot += loss.item()
            self.sched.step()
            v, iou = self.validate()
            print(f"Epoch {epoch + 1}/{self.epochs} - loss: {tot / len(self.train_loader):.4f} - val_loss: {v:.4f} - val_iou: {iou:.4f}")

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        tot = inter = union = 0.0
        for img, mask in self.val_loader:
            out = self.model(img)
            tot += self.loss(out, mask).item()
            pred = out > 0
            inter += (pred & (mask > 0)).sum().item()
            union += (pred | (mask > 0)).sum().item()
        return tot / len(self.val_loader), inter / max(union, 1)


if __name__ == "__main__":
    torch.manual_seed(0)
    SegTrainer(UNet(), CellImages(900, seed=1), CellImages(200, seed=2), lr=1e-2, epochs=14).fit()
