import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

LENGTH = 96
NAMES = ["normal", "ectopic", "fusion"]


def bump(t, mid, width):
    return np.exp(-((t - mid) / width) ** 2)


def beats(n, share, rng):
    """One-lead heart beats, resampled to 96 points."""
    t = np.linspace(0, 1, LENGTH)
    y = rng.choice(3, size=n, p=share)
    out = np.empty((n, 1, LENGTH), dtype=np.float32)
    for i, k in enumerate(y):
        shift = rng.normal(0, 0.02)
        amp = rng.normal(1.0, 0.12)
        r = amp * bump(t, 0.5 + shift, 0.03)
        p = 0.25 * bump(t, 0.3 + shift, 0.04)
        tw = 0.35 * bump(t, 0.75 + shift, 0.06)
        if k == 1:
            p = p * rng.uniform(0.0, 0.6)
            r = amp * bump(t, 0.48 + shift, 0.03 + rng.uniform(0.003, 0.03))
        elif k == 2:
            tw = tw * rng.uniform(0.2, 0.75)
            r = r - rng.uniform(0.05, 0.3) * bump(t, 0.58 + shift, 0.03)
        out[i, 0] = r + p + tw + rng.normal(0, 0.16, LENGTH)
    return torch.from_numpy((out - 0.16) / 0.33), torch.from_numpy(y)


class BeatNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 16, 7, stride=2, padding=3), nn.ReLU(),
            nn.Conv1d(16, 32, 5, stride=2, padding=2), nn.ReLU(),
            nn.Conv1d(32, 32, 3, stride=2, padding=1), nn.ReLU())
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(32 * 12, 3))

    def forward(self, x):
        return self.classifier(self.features(x))


@torch.no_grad()
def report(net, loader, criterion):
    net.eval()
    table = torch.zeros(3, 3)
    loss = 0.0
    for x, y in loader:
        out = net(x)
        loss += criterion(out, y).item() / len(loader)
        for a, b in zip(y, out.argmax(1)):
            table[a, b] += 1
    recall = table.diag() / table.sum(1).clamp(min=1)
    return loss, (table.diag().sum() / table.sum()).item(), recall


rng = np.random.default_rng(12)
torch.manual_seed(12)
SHARE = [0.955, 0.03, 0.015]
x_train, y_train = beats(9000, SHARE, rng)
x_valid, y_valid = beats(4000, SHARE, rng)
train_loader = DataLoader(TensorDataset(x_train, y_train), batch_size=64, shuffle=True)
valid_loader = DataLoader(TensorDataset(x_valid, y_valid), batch_size=500)

net = BeatNet()
counts = torch.bincount(y_train, minlength=3).float()
criterion = nn.CrossEntropyLoss(weight=counts.sum() / (3 * counts))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-4, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
for epoch in range(1, 11):
    net.train()
    mean = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        mean += loss.item() / len(train_loader)
    scheduler.step()
    vloss, acc, recall = report(net, valid_loader, criterion)
    print(f"epoch {epoch:2d} train {mean:.4f} valid {vloss:.4f} acc {acc:.4f} recall "
          + " ".join(f"{n}={r:.2f}" for n, r in zip(NAMES, recall)))
