"""Train a small CNN on pictures that lie in one folder per class."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES = ["circle", "cross", "ring", "square", "triangle"]
SIZE = 20


def draw(kind, rng):
    yy, xx = np.mgrid[:SIZE, :SIZE].astype(float)
    y, x, r = yy - rng.uniform(7, 12), xx - rng.uniform(7, 12), rng.uniform(4, 6.5)
    shape = {"circle": y ** 2 + x ** 2 < r ** 2,
             "cross": ((np.abs(y) < 1.3) | (np.abs(x) < 1.3)) & (np.maximum(np.abs(x), np.abs(y)) < r),
             "ring": np.abs(np.hypot(y, x) - r) < 1.3,
             "square": np.maximum(np.abs(y), np.abs(x)) < 0.85 * r,
             "triangle": (y < 0.7 * r) & (y > -r + 1.7 * np.abs(x))}[kind]
    return shape * rng.uniform(0.6, 1.0) + 0.25 * rng.normal(size=(SIZE, SIZE))


def read_folders(per_class, seed):
    """Walk through the class folders, as os.walk would."""
    rng = np.random.default_rng(seed)
    images, labels = [], []
    for index, name in enumerate(CLASSES):
        for _ in range(per_class):
            images.append(draw(name, rng))
            labels.append(index)
    images = torch.tensor(np.stack(images), dtype=torch.float32)[:, None]
    return (images - 0.2) / 0.4, torch.tensor(labels)


def batches(images, labels, size, shuffle=False):
    order = torch.randperm(len(labels)) if shuffle else torch.arange(len(labels))
    for ids in order.split(size):
        yield images[ids], labels[ids]


class ShapeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 12, 3, padding=1), nn.Conv2d(12, 24, 3, padding=1)
        self.fc1, self.fc2 = nn.Linear(24 * 25, 48), nn.Linear(48, len(CLASSES))

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def main():
    torch.manual_seed(2)
    train_x, train_y = read_folders(300, seed=1)
    val_x, val_y = read_folders(60, seed=2)
    net = ShapeNet()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.01)
    for epoch in range(1, 11):
        net.train()
        losses = []
        for x, y in batches(train_x, train_y, 25, shuffle=True):
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        net.eval()
        with torch.no_grad():
            out = torch.cat([net(x) for x, _ in batches(val_x, val_y, 100)])
        acc = (out.argmax(1) == val_y).float().mean().item()
        print(f"epoch {epoch:2d} train loss {np.mean(losses):.4f} val loss {F.cross_entropy(out, val_y).item():.4f} val acc {acc:.3f}")


main()
