import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIZE, N_TRAIN, N_VAL = 20, 200, 400


def grow_leaf(kind, rng):
    """One grey picture of a leaf: species differ in lobes, elongation and vein angle."""
    lobes, stretch, veins = [(0, 1.7, 0.5), (3, 1.2, 0.9), (5, 1.0, 0.5), (0, 1.2, 1.2), (3, 1.6, 0.3)][kind]
    a = rng.uniform(-0.35, 0.35)
    yy, xx = np.mgrid[0:SIZE, 0:SIZE] - (SIZE - 1) / 2
    yy, xx = yy + rng.uniform(-2, 2), xx + rng.uniform(-2, 2)
    u, v = np.cos(a) * yy - np.sin(a) * xx, np.sin(a) * yy + np.cos(a) * xx
    theta, d = np.arctan2(v * stretch, u), np.hypot(u, v * stretch)
    radius = rng.uniform(6.5, 8.0) * (1 + (0.22 * np.cos(lobes * theta) if lobes else 0))
    img = (d < radius) * (0.7 + 0.25 * np.cos(2.2 * (np.abs(v) - veins * u)))
    return img * rng.uniform(0.7, 1.3) + rng.normal(0, 0.4, img.shape) + rng.uniform(-0.2, 0.2)


class Leaves(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.labels = torch.from_numpy(rng.integers(0, 5, n))
        images = np.stack([grow_leaf(int(k), rng) for k in self.labels]).astype("float32")
        self.images = torch.from_numpy((images - 0.3) / 0.7)[:, None]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.images[i], self.labels[i]


class LeafNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3, padding=1)
        self.fc1, self.fc2 = nn.Linear(32 * 25, 64), nn.Linear(64, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def run_epoch(model, loader, optimizer=None):
    model.train(optimizer is not None)
    loss_sum = hits = 0
    with torch.set_grad_enabled(optimizer is not None):
        for x, y in loader:
            out = model(x)
            loss = F.cross_entropy(out, y)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
    return loss_sum / len(loader.dataset), hits / len(loader.dataset)


def main():
    torch.manual_seed(3)
    train_loader = DataLoader(Leaves(N_TRAIN, 5), batch_size=20, shuffle=True)
    val_loader = DataLoader(Leaves(N_VAL, 6), batch_size=200)
    model = LeafNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    for epoch in range(1, 61):
        train_loss, train_acc = run_epoch(model, train_loader, optimizer)
        val_loss, val_acc = run_epoch(model, val_loader)
        if epoch % 6 == 0:
            print(f"{epoch:3d}: train {train_loss:.3f} ({train_acc:.3f})  val {val_loss:.3f} ({val_acc:.3f})")


if __name__ == "__main__":
    main()
