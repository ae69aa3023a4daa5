import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def gestures(n, g, length=24):
    """A short gesture somewhere in a noisy recording of three axes."""
    kind = torch.randint(0, 4, (n,), generator=g)
    start = torch.randint(0, length - 10, (n, 1), generator=g)
    t = torch.arange(length)[None] - start
    window = ((t >= 0) & (t < 10)).float()
    angle = 2 * math.pi * t / 10
    shape = torch.stack([torch.sin(angle), torch.sin(2 * angle), torch.cos(angle), -torch.sin(angle)])[kind, torch.arange(n)]
    axis = torch.stack([shape, shape.roll(2, dims=1), shape.abs()], dim=2) * window[..., None]
    x = 1.5 * axis + 0.3 * torch.randn(n, length, 3, generator=g)
    return x, kind


class GestureNet(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(3, 16, 3, padding=1), nn.BatchNorm1d(16), nn.ReLU())
        self.lstm = nn.LSTM(16, hidden, batch_first=True)
        self.score = nn.Linear(hidden, 1)
        self.fc = nn.Linear(hidden, 4)

    def forward(self, x):
        x = self.front(x.transpose(1, 2)).transpose(1, 2)
        states, _ = self.lstm(x)                                    # (batch, time, hidden)
        weights = torch.softmax(self.score(states).squeeze(-1), dim=1)
        pooled = torch.einsum("bt,bth->bh", weights, states)
        return self.fc(pooled)


class Runner:
    def __init__(self):
        g = torch.Generator().manual_seed(71)
        torch.manual_seed(71)
        self.train = DataLoader(TensorDataset(*gestures(960, g)), batch_size=16, shuffle=True)
        self.val = DataLoader(TensorDataset(*gestures(320, g)), batch_size=80)
        self.model = GestureNet()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=3e-3)
        self.loss_fn = nn.CrossEntropyLoss()

    def fit(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            total = 0.0
            for x, y in self.train:
                self.opt.zero_grad()
                loss = self.loss_fn(self.model(x), y)
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
                self.opt.step()
                total += loss.item() / len(self.train)
            self.model.eval()
            with torch.no_grad():
                pairs = [(self.model(x), y) for x, y in self.val]
            v = sum(self.loss_fn(o, y).item() for o, y in pairs) / len(pairs)
            acc = sum((o.argmax(1) == y).float().mean().item() for o, y in pairs) / len(pairs)
            print(f"epoch {epoch}: train {total:.4f} val {v:.4f} acc {acc:.3f}")


if __name__ == "__main__":
    Runner().fit(5)
