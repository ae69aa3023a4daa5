"""Keypoint heat maps for craters: a CenterNet-like head with the focal loss."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIZE = 24


class Craters(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij")
        self.items = []
        for _ in range(n):
            img = 0.25 * torch.randn(SIZE, SIZE, generator=g)
            heat = torch.zeros(SIZE, SIZE)
            for _ in range(int(torch.randint(1, 4, (1,), generator=g))):
                cx, cy = torch.randint(4, SIZE - 4, (2,), generator=g).tolist()
                d2 = (xx - cx) ** 2 + (yy - cy) ** 2
                img = img + 1.5 * torch.exp(-(d2.float().sqrt() - 3) ** 2) - 0.8 * torch.exp(-d2 / 4.0)
                heat = torch.maximum(heat, torch.exp(-d2 / 2.0))
                heat[cy, cx] = 1.0
            self.items.append((img[None], heat[None]))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class HeatNet(nn.Module):
    def __init__(self, ch=16, prior=0.01):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(1, ch, 5, padding=2), nn.ReLU(),
            nn.Conv2d(ch, ch, 5, padding=2), nn.ReLU(),
        )
        self.head = nn.Sequential(nn.Conv2d(ch, ch, 3, padding=1), nn.ReLU(), nn.Conv2d(ch, 1, 1))
        self.init_weights(prior)

    def init_weights(self, prior):
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
                nn.init.zeros_(m.bias)
        nn.init.constant_(self.head[-1].bias, -math.log((1 - prior) / prior))

    def forward(self, x):
        return self.head(self.stem(x))


def heat_loss(logits, heat, alpha=2, beta=4):
    p = logits.sigmoid()
    peak = heat.eq(1).float()
    pos = F.logsigmoid(logits) * (1 - p) ** alpha * peak
    neg = F.logsigmoid(-logits) * p ** alpha * (1 - heat) ** beta * (1 - peak)
    return -(pos.sum() + neg.sum()) / peak.sum().clamp(min=1)


@torch.no_grad()
def recall(model, loader):
    model.eval()
    found = total = 0
    for img, heat in loader:
        p = model(img).sigmoid()
        top = (F.max_pool2d(p, 3, 1, 1) == p) & (p > 0.3)
        near = F.max_pool2d(top.float(), 3, 1, 1) > 0
        found += (near & heat.eq(1)).sum().item()
        total += heat.eq(1).sum().item()
    return found / total


torch.manual_seed(7)
train_loader = DataLoader(Craters(480, seed=1), batch_size=16, shuffle=True)
val_loader = DataLoader(Craters(100, seed=2), batch_size=50)
model = HeatNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(1, 5):
    model.train()
    losses = []
    for img, heat in train_loader:
        loss = heat_loss(model(img), heat)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch} | focal loss {sum(losses) / len(losses):.3f} | val recall {recall(model, val_loader):.3f}")
