"""Pixel labels for vessels in small retina crops (background / vessel / spot)."""
import os
import random

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

os.environ.setdefault("PYTHONHASHSEED", "0")
random.seed(0)
np.random.seed(0)
torch.manual_seed(0)

CLASSES = ("background", "vessel", "spot")


class RetinaCrops(Dataset):
    def __init__(self, count, size=24, seed=0):
        rng = np.random.default_rng(seed)
        rows, cols = np.mgrid[:size, :size]
        self.images, self.masks = [], []
        for _ in range(count):
            angle, offset = rng.uniform(0, np.pi), rng.uniform(-6, 6)
            line = np.abs((rows - size / 2) * np.cos(angle) + (cols - size / 2) * np.sin(angle) - offset)
            cy, cx = rng.integers(3, size - 3, 2)
            spot = (rows - cy) ** 2 + (cols - cx) ** 2 <= 5
            mask = np.zeros((size, size), dtype=np.int64)
            mask[line < 1.3] = 1
            mask[spot] = 2
            image = rng.normal(0, 0.35, (size, size)) - 1.2 * (mask == 1) + 1.2 * (mask == 2)
            self.images.append(torch.tensor(image, dtype=torch.float32)[None])
            self.masks.append(torch.from_numpy(mask))

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        return self.images[index], self.masks[index]


class SegNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, padding=1), nn.ReLU(inplace=True),
        )
        self.scores = nn.Conv2d(width, len(CLASSES), kernel_size=1)

    def forward(self, image):
        return self.scores(self.features(image))


def class_iou(model, loader):
    inter, union = np.zeros(len(CLASSES)), np.zeros(len(CLASSES))
    model.eval()
    with torch.no_grad():
        for image, mask in loader:
            guess = model(image).argmax(dim=1)
            for c in range(len(CLASSES)):
                inter[c] += ((guess == c) & (mask == c)).sum().item()
                union[c] += ((guess == c) | (mask == c)).sum().item()
    return inter / np.maximum(union, 1)


def main():
    train_loader = DataLoader(RetinaCrops(400, seed=1), batch_size=16, shuffle=True)
    val_loader = DataLoader(RetinaCrops(80, seed=2), batch_size=40)
    model = SegNet()
    criterion = nn.NLLLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(1, 6):
        model.train()
        epoch_loss = 0.0
        for image, mask in train_loader:
            optimizer.zero_grad()
            output = model(image)
            loss = criterion(output, mask)
            loss.backward()
            optimizer.step()
            epoch_loss += loss.item()
        iou = class_iou(model, val_loader)
        print(f"epoch {epoch}: loss {epoch_loss / len(train_loader):.4f}  " + "  ".join(f"{n} {v:.3f}" for n, v in zip(CLASSES, iou)))


if __name__ == "__main__":
    main()
