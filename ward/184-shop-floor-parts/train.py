import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

NAMES = ["washer", "nut", "bolt", "plate", "spring"]
FREQUENCY = [0.3, 0.25, 0.25, 0.192, 0.008]


class Parts(Dataset):
    """Silhouettes of parts on the belt, 16 x 16."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.kind = rng.choice(len(NAMES), n, p=FREQUENCY)
        v, u = np.mgrid[-1:1:16j, -1:1:16j]
        pictures = []
        for k in self.kind:
            angle = rng.uniform(0, np.pi)
            a, b = u * np.cos(angle) + v * np.sin(angle), v * np.cos(angle) - u * np.sin(angle)
            r = np.hypot(a, b)
            shape = [(r < 0.7) & (r > 0.35),
                     (np.maximum(abs(a), abs(a) / 2 + abs(b) * 0.87) < 0.55) & (r > 0.2),
                     (abs(b) < 0.17) | ((a > 0.5) & (abs(b) < 0.45)),
                     (abs(a) < 0.75) & (abs(b) < 0.5),
                     abs(b - 0.4 * np.sin(7 * a)) < 0.2][k]
            pictures.append(shape + 0.25 * rng.standard_normal(shape.shape))
        self.pictures = torch.tensor(np.stack(pictures), dtype=torch.float32)[:, None] * 2 - 0.6
        self.targets = torch.tensor(self.kind)

    def __len__(self):
        return len(self.targets)

    def __getitem__(self, i):
        return self.pictures[i], self.targets[i]


class PartNet(nn.Module):
    def __init__(self, num_classes=4):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.head = nn.Linear(16 * 16, num_classes)

    def forward(self, x):
        return self.head(self.body(x))


class Trainer:
    def __init__(self, net, train_set, val_set, lr=0.01, batch_size=20):
        self.net = net
        self.train_loader = DataLoader(train_set, batch_size, shuffle=True)
        self.val_loader = DataLoader(val_set, 200)
        self.optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9, weight_decay=1e-3)
        self.criterion = nn.CrossEntropyLoss()
        self.step = 0

    def train_epoch(self):
        self.net.train()
        for pictures, targets in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.net(pictures), targets)
            loss.backward()
            self.optimizer.step()
            self.step += 1
            if self.step % 5 == 0:
                print(f"step {self.step:3d} loss {loss.item():.4f}", flush=True)

    @torch.no_grad()
    def validate(self):
        self.net.eval()
        outs = [(self.net(p), t) for p, t in self.val_loader]
        loss = sum(self.criterion(o, t).item() for o, t in outs) / len(outs)
        acc = sum((o.argmax(1) == t).float().mean().item() for o, t in outs) / len(outs)
        print(f"validation: loss {loss:.4f} acc {acc:.3f}")

    def fit(self, epochs):
        for _ in range(epochs):
            self.train_epoch()
            self.validate()


torch.manual_seed(42)
Trainer(PartNet(), Parts(1000, seed=5), Parts(400, seed=6)).fit(3)
