"""Sleep / awake from four-channel EEG windows (2 s at 64 Hz), small 1-D CNN."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FS, SECONDS, CHANNELS = 64, 2, 4


def simulate_night(n_windows, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(FS * SECONDS) / FS
    state = rng.integers(0, 2, n_windows)
    windows = np.zeros((n_windows, CHANNELS, len(t)))
    for i, s in enumerate(state):
        band = rng.uniform(1.0, 4.0) if s == 0 else rng.uniform(6.0, 12.0)
        for c in range(CHANNELS):
            phase = rng.uniform(0, 2 * np.pi)
            windows[i, c] = 30 * np.sin(2 * np.pi * band * t + phase) + rng.normal(0, 35, len(t))
    loose = rng.choice(n_windows, n_windows // 150, replace=False)     # electrode 3 falls off now and then
    windows[loose, 2] = 0.0
    return windows, state


class EEGWindows(torch.utils.data.Dataset):
    def __init__(self, n_windows, seed):
        self.windows, self.state = simulate_night(n_windows, seed)

    def __len__(self):
        return len(self.state)

    def __getitem__(self, i):
        w = self.windows[i]
        mean = w.mean(axis=-1, keepdims=True)
        std = w.std(axis=-1, keepdims=True)
        with np.errstate(all="ignore"):
            w = (w - mean) / std
        return torch.from_numpy(w.astype(np.float32)), int(self.state[i])


class EEGNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(CHANNELS, 16, 9, stride=2, padding=4)
        self.conv2 = nn.Conv1d(16, 24, 5, stride=2, padding=2)
        self.fc = nn.Linear(24, 2)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        return self.fc(x.mean(dim=-1))


class Trainer:
    def __init__(self, model, train_set, val_set, lr=2e-3, batch_size=32):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.train_loader = torch.utils.data.DataLoader(train_set, batch_size=batch_size, shuffle=True)
        self.val_loader = torch.utils.data.DataLoader(val_set, batch_size=128)

    def train_epoch(self):
        self.model.train()
        total, count = 0.0, 0
        for x, y in self.train_loader:
            self.opt.zero_grad()
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            self.opt.step()
            total += loss.item() * len(y)
            count += len(y)
        return total / count

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        hits, count = 0, 0
        for x, y in self.val_loader:
            hits += (self.model(x).argmax(1) == y).sum().item()
            count += len(y)
        return hits / count

    def fit(self, epochs):
        for epoch in range(1, epochs + 1):
            train_loss = self.train_epoch()
            print(f"[{epoch:2d}/{epochs}] train loss {train_loss:.4f}  val acc {self.validate():.3f}")


if __name__ == "__main__":
    torch.manual_seed(3)
    Trainer(EEGNet(), EEGWindows(1200, seed=1), EEGWindows(300, seed=2)).fit(8)
