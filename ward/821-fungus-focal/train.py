"""Edible or not, from measured caps and stems; focal loss with a soft exponent."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class FocalLoss(nn.Module):
    def __init__(self, gamma=0.5):
        super().__init__()
        self.gamma = gamma

    def forward(self, logits, target):
        logp = F.log_softmax(logits, dim=1)
        ce = F.nll_loss(logp, target, reduction="none")
        pt = torch.exp(-ce)
        focus = (1 - pt) ** self.gamma
        return (focus * ce).mean()


def mushrooms(n, seed):
    g = torch.Generator().manual_seed(seed)
    w = torch.randn(7, 3, generator=torch.Generator().manual_seed(99))
    x = torch.randn(n, 7, generator=g)
    score = x @ w + 0.8 * torch.sin(2 * x[:, :3])
    return x, score.argmax(1)


class Experiment:
    def __init__(self, lr=3e-3, batch=64, seed=0):
        torch.manual_seed(seed)
        self.model = nn.Sequential(nn.Linear(7, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 3))
        self.loss = FocalLoss()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.train = DataLoader(TensorDataset(*mushrooms(4000, 1)), batch_size=batch, shuffle=True)
        self.xv, self.yv = mushrooms(600, 2)

    def run(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            tot = 0.0
            for x, y in self.train:
                loss = self.loss(self.model(x), y)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                tot += loss.item()
            self.model.eval()
            with torch.no_grad():
                out = self.model(self.xv)
            acc = (out.argmax(1) == self.yv).float().mean().item()
            print(f"epoch {epoch:2d} train {tot / len(self.train):.4f} val {self.loss(out, self.yv).item():.4f} acc {acc:.3f}")


Experiment().run(5)
