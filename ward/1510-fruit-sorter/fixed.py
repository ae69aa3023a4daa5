import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

FRUIT = {"apple": (40, 45, 190), "lemon": (60, 210, 225), "plum": (130, 50, 90), "lime": (70, 190, 110), "orange": (30, 130, 240)}


def camera(name, rng, size=24):
    """One frame of the belt camera (H x W x 3, uint8, channels as OpenCV delivers them)."""
    yy, xx = np.mgrid[:size, :size]
    frame = np.full((size, size, 3), (95, 110, 120), float) + rng.normal(0, 12, (size, size, 3))
    cy, cx, ry = rng.uniform(9, 15), rng.uniform(9, 15), rng.uniform(5, 8)
    rx = ry * (1.25 if name in ("lemon", "lime") else 1.0)
    inside = ((yy - cy) / ry) ** 2 + ((xx - cx) / rx) ** 2 < 1
    frame[inside] = np.array(FRUIT[name]) * rng.uniform(0.75, 1.05) + rng.normal(0, 14, (inside.sum(), 3))
    return np.clip(frame, 0, 255).astype(np.uint8)


class Compose:
    def __init__(self, *steps):
        self.steps = steps

    def __call__(self, x):
        for step in self.steps:
            x = step(x)
        return x


def bgr_to_rgb(frame):
    return frame[:, :, ::-1].copy()


def random_flip(frame):
    return frame[:, ::-1].copy() if torch.rand(1).item() < 0.5 else frame


def to_tensor(frame):
    return torch.from_numpy(frame).permute(2, 0, 1).float() / 255


def normalise(x):
    return (x - torch.tensor([0.47, 0.44, 0.36]).view(3, 1, 1)) / torch.tensor([0.20, 0.17, 0.14]).view(3, 1, 1)


train_transform = Compose(bgr_to_rgb, random_flip, to_tensor, normalise)
val_transform = Compose(bgr_to_rgb, to_tensor, normalise)


class Belt(Dataset):
    def __init__(self, n, seed, transform):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(len(FRUIT), size=n)
        self.frames = [camera(list(FRUIT)[k], rng) for k in self.labels]
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.transform(self.frames[i]), int(self.labels[i])


torch.manual_seed(9)
train_loader = DataLoader(Belt(900, 1, train_transform), batch_size=30, shuffle=True)
val_loader = DataLoader(Belt(300, 2, val_transform), batch_size=100)
model = nn.Sequential(nn.Conv2d(3, 12, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.ReLU(),
                      nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(96, len(FRUIT)))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(9):
    model.train()
    train_loss = 0.0
    for x, y in train_loader:
        opt.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        opt.step()
        train_loss += loss.item() / len(train_loader)
    model.eval()
    val_loss, right = 0.0, 0
    with torch.no_grad():
        for x, y in val_loader:
            out = model(x)
            val_loss += loss_fn(out, y).item() / len(val_loader)
            right += (out.argmax(1) == y).sum().item()
    print(f"[{epoch + 1}] train {train_loss:.4f}  val {val_loss:.4f}  acc {right / 300:.3f}")
