"""Detector pulses: electron, proton or noise burst, from 40 ADC samples per trigger."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


def digitise(n, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(40)
    kind = rng.integers(0, 3, n)
    rise = np.where(kind == 0, 1.5, 3.0)[:, None]
    fall = np.where(kind == 2, 4.0, np.where(kind == 0, 7.0, 12.0))[:, None]
    start = rng.uniform(4, 9, n)[:, None]
    s = np.clip(t - start, 0, None)
    pulse = (1 - np.exp(-s / rise)) * np.exp(-s / fall)
    pulse = pulse / pulse.max(1, keepdims=True)
    gain = rng.uniform(250, 600, n)[:, None]
    pedestal = rng.normal(900, 80, n)[:, None]
    return (pedestal + gain * pulse + rng.normal(0, 22, pulse.shape)).astype(np.float32), kind


class Pulses(Dataset):
    def __init__(self, n, seed, train):
        self.adc, self.kind = digitise(n, seed)
        self.train = train
        self.rng = np.random.default_rng(seed + 1)

    def __len__(self):
        return len(self.kind)

    def __getitem__(self, i):
        x = self.adc[i]
        if self.train:
            x = np.roll(x, self.rng.integers(-2, 3))
            x = x * self.rng.uniform(0.9, 1.1)
            x = (x - x.mean()) / x.std()
        else:
            x = (x - 1000) / 150
        return torch.from_numpy(x.astype(np.float32)), int(self.kind[i])


class PulseNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(40, 48), nn.GELU(), nn.Linear(48, 24), nn.GELU())
        self.head = nn.Linear(24, 3)

    def forward(self, x):
        return self.head(self.body(x))


torch.manual_seed(12)
train_loader = DataLoader(Pulses(1350, seed=1, train=True), batch_size=45, shuffle=True)
val_loader = DataLoader(Pulses(400, seed=50, train=False), batch_size=200)
net = PulseNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=0.01)

for epoch in range(5):
    net.train()
    train_loss = 0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() / len(train_loader)
    net.eval()
    val_loss, correct = 0, 0
    with torch.no_grad():
        for x, y in val_loader:
            out = net(x)
            val_loss += criterion(out, y).item() / len(val_loader)
            correct += (out.argmax(1) == y).sum().item()
    print(f"epoch {epoch + 1} | train {train_loss:.4f} | val {val_loss:.4f} | val acc {correct / 400:.3f}")
