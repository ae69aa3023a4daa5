"""Contrastive embeddings of shop items: two noisy views of each item should agree."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn


@dataclass
class Config:
    items: int = 480_000
    features: int = 16
    batch: int = 480_000
    steps: int = 150
    temperature: float = 0.2


class Trainer:
    def __init__(self, config):
        self.config = config
        self.items = torch.randn(config.items, config.features)
        self.net = nn.Sequential(nn.Linear(config.features, 32), nn.ReLU(), nn.Linear(32, 8))
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=2e-3)

    def views(self):
        rows = torch.randint(0, len(self.items), (self.config.batch,))
        x = self.items[rows]
        return x + 0.3 * torch.randn_like(x), x + 0.3 * torch.randn_like(x)

    def loss(self, a, b):
        a, b = F.normalize(self.net(a), dim=1), F.normalize(self.net(b), dim=1)
        scores = a @ b.T / self.config.temperature
        return F.cross_entropy(scores, torch.arange(len(a)))

    def run(self):
        for step in range(self.config.steps):
            loss = self.loss(*self.views())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step % 30 == 0:
                print(f"step {step} loss {loss.item():.4f}")


torch.manual_seed(44)
Trainer(Config()).run()
