"""Sort machine parts by silhouette. Folder-per-class layout as in ImageFolder, one root for train and one for val."""
import math
import random
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIZE = 16
random.seed(19)
torch.manual_seed(19)
yy, xx = torch.meshgrid(torch.linspace(-1, 1, SIZE), torch.linspace(-1, 1, SIZE), indexing="ij")


def silhouette(kind):
    cx, cy, r = random.uniform(-0.2, 0.2), random.uniform(-0.2, 0.2), random.uniform(0.45, 0.65)
    a = random.uniform(-0.3, 0.3)
    u = (xx - cx) * math.cos(a) + (yy - cy) * math.sin(a)
    v = -(xx - cx) * math.sin(a) + (yy - cy) * math.cos(a)
    rho = (u ** 2 + v ** 2).sqrt()
    shape = {
        "bolt": (u.abs() < 0.18) & (v.abs() < r) | (v < -r + 0.3) & (v > -r) & (u.abs() < 0.4),
        "bracket": (u.abs() < r) & (v.abs() < r) & ((u < -r + 0.3) | (v > r - 0.3)),
        "gear": rho < r * (1 + 0.25 * torch.cos(6 * torch.atan2(v, u))),
        "pin": (u.abs() < 0.15) & (v.abs() < r),
        "plate": (u.abs() < r) & (v.abs() < r),
        "washer": (rho < r) & (rho > 0.5 * r),
    }[kind]
    return shape.float() + 0.25 * torch.randn(SIZE, SIZE)


def shoot(counts):
    """{folder name: [pictures]} as it lies on the disk"""
    return OrderedDict((kind, [silhouette(kind) for _ in range(n)]) for kind, n in counts.items())


class FolderSet(Dataset):
    def __init__(self, root, classes=None, mean=0.3, std=0.55):
        self.classes = classes or sorted(root)
        self.class_to_idx = {c: i for i, c in enumerate(self.classes)}
        self.samples = [(img, self.class_to_idx[c]) for c in sorted(root) for img in root[c]]
        self.mean, self.std = mean, std

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        img, label = self.samples[i]
        return ((img - self.mean) / self.std).unsqueeze(0), label


class PartNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.c1 = nn.Conv2d(1, 12, 3, padding=1)
        self.c2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc = nn.Linear(24 * 16, n_classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.fc(x.flatten(1))


train_root = shoot({"bolt": 220, "bracket": 220, "gear": 220, "pin": 220, "plate": 220, "washer": 220})
val_root = shoot({"bracket": 70, "gear": 70, "pin": 70, "plate": 70, "washer": 70})  # no bolts on the line this week
train_set = FolderSet(train_root)
val_set = FolderSet(val_root, classes=train_set.classes)
print(f"train: {len(train_set)} images in {len(train_set.classes)} folders | val: {len(val_set)} images in {len(val_set.classes)} folders")
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=64)

model = PartNet(len(train_set.classes))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for epoch in range(5):
    model.train()
    losses, right = [], 0
    for x, y in train_loader:
        optimizer.zero_grad()
        out = model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        right += (out.argmax(1) == y).sum().item()
    model.eval()
    vl, vr = 0.0, 0
    with torch.no_grad():
        for x, y in val_loader:
            out = model(x)
            vl += F.cross_entropy(out, y, reduction="sum").item()
            vr += (out.argmax(1) == y).sum().item()
    print(f"epoch {epoch + 1}/5 - loss {sum(losses) / len(losses):.4f} - acc {right / len(train_set):.3f} "
          f"- val_loss {vl / len(val_set):.4f} - val_acc {vr / len(val_set):.3f}")
