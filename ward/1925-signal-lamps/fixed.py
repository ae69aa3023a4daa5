"""Recognise railway signals (colour and shape) on small camera crops."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

COLOURS = {"red": (205, 40, 45), "amber": (230, 150, 30), "green": (40, 185, 80), "blue": (50, 80, 210)}
SHAPES = ["disc", "bar"]
CLASSES = [(c, s) for c in COLOURS for s in SHAPES]


def camera(n, seed):
    """Frames as the capture driver hands them over: uint8, H x W x BGR."""
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:20, :20]
    frames, labels = [], []
    for _ in range(n):
        k = int(rng.integers(len(CLASSES)))
        colour, shape = CLASSES[k]
        cy, cx, r = rng.uniform(7, 13), rng.uniform(7, 13), rng.uniform(3, 6)
        inside = (yy - cy) ** 2 + (xx - cx) ** 2 < r * r if shape == "disc" else \
            (abs(yy - cy) < r / 3) & (abs(xx - cx) < r * 1.2)
        img = rng.normal(rng.uniform(60, 110), 18, (20, 20, 3))
        img[inside] = np.array(COLOURS[colour]) * rng.uniform(0.75, 1.1) + rng.normal(0, 18, (int(inside.sum()), 3))
        frames.append(np.clip(img, 0, 255).astype("uint8")[:, :, ::-1])
        labels.append(k)
    return np.stack(frames), np.array(labels)


def to_tensor(img):
    return torch.from_numpy(np.ascontiguousarray(img)).permute(2, 0, 1).float() / 127.5 - 1


class Crops(Dataset):
    def __init__(self, frames, labels, augment=False):
        self.frames, self.labels, self.augment = frames, labels, augment

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        img = self.frames[i][:, :, ::-1]
        if self.augment:
            if torch.rand(()) < 0.5:
                img = img[:, ::-1]
        return to_tensor(img), int(self.labels[i])


def evaluate(net, loader, crit):
    net.eval()
    tot, ok, n = 0.0, 0, 0
    with torch.no_grad():
        for x, y in loader:
            out = net(x)
            tot, ok, n = tot + crit(out, y).item() * len(y), ok + (out.argmax(1) == y).sum().item(), n + len(y)
    return tot / n, ok / n


torch.manual_seed(9)
train = DataLoader(Crops(*camera(2000, 1), augment=True), batch_size=40, shuffle=True)
val = DataLoader(Crops(*camera(600, 2)), batch_size=200)
net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                    nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * 25, 64), nn.ReLU(), nn.Linear(64, len(CLASSES)))
crit = nn.CrossEntropyLoss()
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
for epoch in range(10):
    net.train()
    seen = total = 0
    for x, y in train:
        opt.zero_grad()
        loss = crit(net(x), y)
        loss.backward()
        opt.step()
        total += loss.item() * len(y)
        seen += len(y)
    vl, va = evaluate(net, val, crit)
    print(f"epoch {epoch + 1}: train loss {total / seen:.4f}  val loss {vl:.4f}  val acc {va:.3f}")
