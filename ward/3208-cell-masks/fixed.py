import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)
rng = np.random.default_rng(9)


def draw(n, size=32):
    """Bright stained cells on tissue; pale ones are debris and do not count."""
    yy, xx = np.mgrid[:size, :size]
    imgs, masks = np.zeros((n, 1, size, size), np.float32), np.zeros((n, 1, size, size), np.float32)
    for k in range(n):
        img = rng.normal(0.0, 0.15, (size, size))
        for _ in range(rng.integers(0, 7)):
            cy, cx, r = rng.uniform(3, size - 3), rng.uniform(3, size - 3), rng.uniform(2.5, 5.5)
            disc = (yy - cy) ** 2 + (xx - cx) ** 2 < r * r
            stained = rng.random() < 0.5
            img[disc] = (1.8 if stained else 0.9) + rng.normal(0, 0.15, disc.sum())
            masks[k, 0][disc] = float(stained)
        imgs[k, 0] = (img - 0.3) / 0.6
    return torch.from_numpy(imgs), torch.from_numpy(masks)


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
                         nn.Conv2d(o, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class SmallUNet(nn.Module):
    def __init__(self, ch=8):
        super().__init__()
        self.d1, self.d2, self.mid = block(1, ch), block(ch, 2 * ch), block(2 * ch, 4 * ch)
        self.u2, self.u1 = block(6 * ch, 2 * ch), block(3 * ch, ch)
        self.pool, self.up = nn.MaxPool2d(2), nn.Upsample(scale_factor=2, mode="nearest")
        self.drop = nn.Dropout2d(0.2)
        self.last = nn.Conv2d(ch, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(self.pool(a))
        c = self.drop(self.mid(self.pool(b)))
        b = self.u2(torch.cat([self.up(c), b], 1))
        return self.last(self.u1(torch.cat([self.up(b), a], 1)))


def dice(logits, mask):
    p = (logits > 0).float()
    return (2 * (p * mask).sum((1, 2, 3)) + 1) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1)


train_loader = DataLoader(TensorDataset(*draw(700)), batch_size=20, shuffle=True)
val_loader = DataLoader(TensorDataset(*draw(150)), batch_size=1)
net = SmallUNet()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)

for epoch in range(10):
    net.train()
    train_loss, train_dice = [], []
    for img, mask in train_loader:
        optimizer.zero_grad()
        out = net(img)
        loss = criterion(out, mask)
        loss.backward()
        optimizer.step()
        train_loss.append(loss.item())
        train_dice.append(dice(out.detach(), mask).mean().item())
    scheduler.step()

    net.eval()
    val_loss, val_dice = [], []
    with torch.no_grad():
        for img, mask in val_loader:
            out = net(img)
            val_loss.append(criterion(out, mask).item())
            val_dice.append(dice(out, mask).mean().item())
    print("epoch %2d  train loss %.4f dice %.3f   val loss %.4f dice %.3f" % (
        epoch + 1, np.mean(train_loss), np.mean(train_dice), np.mean(val_loss), np.mean(val_dice)))
