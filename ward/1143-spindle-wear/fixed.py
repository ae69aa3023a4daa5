"""Predict from one shift of spindle readings whether the spindle fails in the next shift."""
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    shifts: int = 3200
    steps: int = 12
    hidden: int = 24
    batch_size: int = 100
    epochs: int = 5
    lr: float = 4e-3
    seed: int = 5


def simulate(cfg):
    g = torch.Generator().manual_seed(cfg.seed)
    t = torch.linspace(0, 1, cfg.steps)
    failing = torch.rand(cfg.shifts, generator=g) < 0.035
    temp = 0.4 * torch.sin(6 * t) + 0.8 * torch.randn(cfg.shifts, 1, generator=g)
    temp = temp + 0.8 * torch.randn(cfg.shifts, cfg.steps, generator=g)
    vib = torch.randn(cfg.shifts, cfg.steps, generator=g)
    wear = torch.rand(cfg.shifts, 1, generator=g) * 1.0 + 0.6
    vib = vib + failing[:, None] * wear * t * 0.6
    temp = temp + failing[:, None] * wear * t * 0.3
    return torch.stack([temp, vib], dim=2), failing.float()


class SpindleNet(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.rnn = nn.GRU(2, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        _, h = self.rnn(x)
        return self.out(h[-1]).squeeze(1)


def report(net, x, y, criterion):
    net.eval()
    with torch.no_grad():
        logit = net(x)
    pred = logit > 0
    recall = pred[y == 1].float().mean().item()
    ok_recall = (~pred[y == 0]).float().mean().item()
    return criterion(logit, y).item(), (pred == (y == 1)).float().mean().item(), recall, ok_recall


def main(cfg):
    torch.manual_seed(cfg.seed)
    x, y = simulate(cfg)
    n = int(cfg.shifts * 0.75)
    x = (x - x[:n].mean((0, 1))) / x[:n].std((0, 1))
    x_val, y_val = x[n:], y[n:]
    loader = DataLoader(TensorDataset(x[:n], y[:n]), batch_size=cfg.batch_size, shuffle=True)
    net = SpindleNet(cfg.hidden)
    criterion = nn.BCEWithLogitsLoss(pos_weight=(y[:n] == 0).sum() / (y[:n] == 1).sum())
    optimizer = torch.optim.Adam(net.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        net.train()
        total = 0.0
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = criterion(net(xb), yb)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            optimizer.step()
            total += loss.item()
        val, acc, recall, ok = report(net, x_val, y_val, criterion)
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f} val {val:.4f} acc {acc:.3f} "
              f"failures found {recall:.2f} good shifts passed {ok:.2f}")


if __name__ == "__main__":
    main(Config())
