"""Tells four pen strokes apart; pictures are prepared one by one by small modules, as torchvision's transforms do."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class ToFloat(nn.Module):
    def forward(self, picture):
        return torch.from_numpy(picture).to(torch.float32).div(255)[None]


class Standardise(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.mean, self.std = mean, std

    def forward(self, picture):
        return (picture - self.mean) / self.std


class Jitter(nn.Module):
    def __init__(self, most):
        super().__init__()
        self.most = most

    def forward(self, picture):
        down, right = torch.randint(-self.most, self.most + 1, (2,)).tolist()
        return picture.roll((down, right), dims=(1, 2))


class Strokes(Dataset):
    def __init__(self, count, seed, transform):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, 4, count)
        self.pictures = np.zeros((count, 20, 20), np.uint8)
        for picture, label in zip(self.pictures, self.labels):
            at = int(rng.integers(4, 16))
            line = np.arange(3, 17)
            if label == 0:
                picture[at, line] = 220
            elif label == 1:
                picture[line, at] = 220
            elif label == 2:
                picture[line, line] = 220
            else:
                picture[line, 19 - line] = 220
            picture += rng.integers(0, 35, (20, 20), dtype=np.uint8)
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.transform(self.pictures[index]), int(self.labels[index])


torch.manual_seed(11)
prepare = nn.Sequential(ToFloat(), Standardise(0.12, 0.21))
train_set = Strokes(1600, 0, nn.Sequential(ToFloat(), Jitter(1), Standardise(0.12, 0.21)))
val_set = Strokes(400, 1, prepare)
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
val_loader = DataLoader(val_set, batch_size=200)

net = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.AdaptiveMaxPool2d(2),
    nn.Flatten(), nn.Linear(96, 4),
)
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)

for epoch in range(4):
    net.train()
    for pictures, labels in train_loader:
        opt.zero_grad()
        loss = loss_fn(net(pictures), labels)
        loss.backward()
        opt.step()
    net.eval()
    right, total = 0, 0.0
    with torch.no_grad():
        for pictures, labels in val_loader:
            logits = net(pictures)
            total += loss_fn(logits, labels).item() * len(labels)
            right += (logits.argmax(1) == labels).sum().item()
    print(f"epoch {epoch + 1}: val loss {total / len(val_set):.4f}, val acc {right / len(val_set):.3f}")
