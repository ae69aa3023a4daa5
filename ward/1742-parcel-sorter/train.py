import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

EPOCHS = 13
KINDS = ["box", "tube", "bag", "envelope"]
MEAN = torch.tensor([0.62, 0.55, 0.46]).view(1, 3, 1, 1)
STD = torch.tensor([0.12, 0.11, 0.10]).view(1, 3, 1, 1)


def camera(n, rng, size=24):
    """uint8 frames of parcels on a conveyor belt, NHWC."""
    yy, xx = np.mgrid[:size, :size] - (size - 1) / 2
    frames, kinds = np.zeros((n, size, size, 3), np.uint8), rng.integers(0, len(KINDS), n)
    for i, k in enumerate(kinds):
        a = rng.uniform(0, np.pi)
        u, v = xx * np.cos(a) + yy * np.sin(a) + rng.uniform(-2, 2), -xx * np.sin(a) + yy * np.cos(a) + rng.uniform(-2, 2)
        s = rng.uniform(0.85, 1.2)
        shape = [np.maximum(abs(u), abs(v)) < 6 * s, (abs(u) < 10 * s) & (abs(v) < 2.5 * s), u ** 2 + v ** 2 < (7 * s) ** 2,
                 (abs(u) < 8 * s) & (abs(v) < 5 * s)][k]
        img = np.array([0.66, 0.58, 0.47]) + rng.normal(0, 0.02, 3) + rng.normal(0, 0.04, (size, size, 3))
        img[shape] += np.array([-0.16, -0.17, -0.13]) * rng.uniform(0.7, 1.2)
        frames[i] = (img.clip(0, 1) * 255).astype(np.uint8)
    return torch.from_numpy(frames), torch.from_numpy(kinds)


def to_nchw(frames):
    return frames.permute(0, 3, 1, 2).float() / 255


def normalize(x):
    return (x - MEAN) / STD


class SorterNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(3, 16, 3, padding=1)
        self.c2 = nn.Conv2d(16, 32, 3, padding=1)
        self.c3 = nn.Conv2d(32, 32, 3, padding=1)
        self.fc1 = nn.Linear(32 * 9, 48)
        self.fc2 = nn.Linear(48, len(KINDS))

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        x = F.max_pool2d(F.relu(self.c3(x)), 2)
        x = F.dropout(F.relu(self.fc1(x.flatten(1))), 0.3, self.training)
        return self.fc2(x)


def train_epoch(model, optimizer, frames, kinds, batch=40):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(kinds)).split(batch):
        x = normalize(to_nchw(frames[idx]))
        if torch.rand(1) < 0.5:
            x = x.flip(3)
        loss = F.cross_entropy(model(x), kinds[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    return total / len(kinds)


@torch.no_grad()
def evaluate(model, frames, kinds, batch=200):
    model.eval()
    loss = right = 0
    for start in range(0, len(kinds), batch):
        x = to_nchw(frames[start:start + batch])
        y = kinds[start:start + batch]
        out = model(x)
        loss += F.cross_entropy(out, y, reduction="sum").item()
        right += (out.argmax(1) == y).sum().item()
    return loss / len(kinds), right / len(kinds)


if __name__ == "__main__":
    torch.manual_seed(6)
    rng = np.random.default_rng(6)
    train_frames, train_kinds = camera(1600, rng)
    val_frames, val_kinds = camera(400, rng)
    model = SorterNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS)
    for epoch in range(EPOCHS):
        tl = train_epoch(model, optimizer, train_frames, train_kinds)
        scheduler.step()
        vl, va = evaluate(model, val_frames, val_kinds)
        print("epoch %2d  train loss %.4f  val loss %.4f  val acc %.3f" % (epoch + 1, tl, vl, va))
