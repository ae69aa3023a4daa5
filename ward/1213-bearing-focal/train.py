"""Bearing damage from vibration envelopes, binary, with focal loss."""
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


class FocalLoss(nn.Module):
    """Lin et al. 2017: -alpha_t (1 - p_t)^gamma log p_t"""

    def __init__(self, alpha=0.25, gamma=2.0):
        super().__init__()
        self.alpha, self.gamma = alpha, gamma

    def forward(self, logits, target):
        bce = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
        p_t = torch.exp(-bce)
        alpha_t = self.alpha * target + (1 - self.alpha) * (1 - target)
        return (alpha_t * (1 - p_t) ** self.gamma * bce).mean()


class EnvelopeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv1d(1, 12, 9, padding=4)
        self.c2 = nn.Conv1d(12, 24, 9, padding=4)
        self.fc = nn.Linear(24, 1)

    def forward(self, x):
        x = F.avg_pool1d(F.relu(self.c1(x)), 4)
        x = F.relu(self.c2(x))
        return self.fc(x.amax(-1)).squeeze(1)


def envelopes(n, rng, share=0.2):
    y = (rng.random(n) < share).astype(np.float32)
    x = rng.normal(size=(n, 96)).astype(np.float32)
    for i in np.flatnonzero(y):
        period, phase = rng.integers(20, 30), rng.integers(0, 20)
        for k in range(phase, 90, period):
            x[i, k:k + 5] += 1.15 * np.array([1, 1.3, 1, 0.6, 0.3]) * rng.uniform(0.6, 1.4)
    return torch.from_numpy(x).unsqueeze(1), torch.from_numpy(y)


def report(model, x, y):
    model.eval()
    with torch.no_grad():
        pred = (model(x) > 0).float()
    tp = (pred * y).sum()
    return (pred == y).float().mean().item(), (tp / y.sum()).item(), int(pred.sum())


def main():
    rng = np.random.default_rng(6)
    torch.manual_seed(6)
    x_train, y_train = envelopes(1600, rng)
    x_val, y_val = envelopes(500, rng)
    model = EnvelopeNet()
    criterion = FocalLoss(alpha=0.1, gamma=2.0)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(1, 9):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(x_train)).split(40):
            loss = criterion(model(x_train[idx]), y_train[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        acc, recall, alarms = report(model, x_val, y_val)
        print(f"epoch {epoch}: focal loss {total / len(x_train):.5f}  val acc {acc:.3f}  recall {recall:.3f}  alarms {alarms}/{int(y_val.sum())}")


main()
