from dataclasses import dataclass
import torch
from torch import nn
import torch.nn.functional as F


@dataclass
class Settings:
    length: int = 80
    max_pulses: int = 8
    n_train: int = 3000
    n_val: int = 600
    batch: int = 60
    epochs: int = 7
    lr: float = 4e-3


class PulseCounter(nn.Module):
    """Counts pulses in a detector trace."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 12, 7, padding=3)
        self.conv2 = nn.Conv1d(12, 12, 5, stride=2, padding=2)
        self.fc1 = nn.Linear(12, 24)
        self.fc2 = nn.Linear(24, 1)

    def forward(self, trace):
        h = F.relu(self.conv1(trace))
        h = F.relu(self.conv2(h))
        h = F.relu(self.fc1(h.mean(-1) * 4))
        return self.fc2(h).squeeze(-1)


class Experiment:
    def __init__(self, cfg):
        torch.manual_seed(29)
        self.cfg = cfg
        self.train = self.simulate(cfg.n_train)
        self.val = self.simulate(cfg.n_val)
        self.model = PulseCounter()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)
        self.criterion = nn.SmoothL1Loss()

    def simulate(self, n):
        counts = torch.randint(0, self.cfg.max_pulses + 1, (n, 1)).float()
        slots = torch.rand(n, self.cfg.length).argsort(1)
        hits = (slots < counts).float()
        kernel = torch.tensor([[[0.2, 0.7, 1.0, 0.7, 0.2]]])
        trace = F.conv1d(hits.unsqueeze(1), kernel, padding=2) + 0.15 * torch.randn(n, 1, self.cfg.length)
        return trace, (counts - 4) / 2.6

    def loss(self, trace, target):
        return self.criterion(self.model(trace), target)

    def fit(self):
        x, y = self.train
        for epoch in range(self.cfg.epochs):
            self.model.train()
            total = 0.0
            for i in torch.randperm(len(x)).split(self.cfg.batch):
                self.optimizer.zero_grad()
                loss = self.loss(x[i], y[i])
                loss.backward()
                self.optimizer.step()
                total += loss.item() * len(i) / len(x)
            self.model.eval()
            with torch.no_grad():
                pred = self.model(self.val[0]).flatten()
                off = (pred - self.val[1].flatten()).abs().mean().item() * 2.6
            print(f"epoch {epoch}: loss {total:.4f}, mean miscount on validation {off:.2f}")


Experiment(Settings()).fit()
