import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def patients(n, seed):
    """Triage grade (0 routine .. 3 critical) from vital signs."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 12)).astype("float32")
    w = np.random.default_rng(0).normal(size=(12, 4)) * 1.4
    scores = x @ w + 0.8 * np.stack([x[:, 0] * x[:, 1], -x[:, 2] ** 2, x[:, 3] * x[:, 4], x[:, 5] ** 2], 1)
    y = (scores + rng.gumbel(size=scores.shape)).argmax(1)
    return torch.from_numpy(x), torch.from_numpy(y)


class FocalLoss(nn.Module):
    """Lin et al. 2017, multi-class."""

    def __init__(self, gamma):
        super().__init__()
        self.gamma = gamma

    def forward(self, logits, target):
        log_p = torch.log_softmax(logits, dim=1).gather(1, target[:, None]).squeeze(1)
        return (-(1 - log_p.exp()) ** self.gamma * log_p).mean()


class TriageNet(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(12, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU())
        self.head = nn.Linear(hidden, 4)

    def forward(self, x):
        return self.head(self.body(x))


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        prob = torch.softmax(model(x), dim=1)
    conf, guess = prob.max(1)
    nll = nn.functional.nll_loss(prob.log(), y).item()
    return nll, (guess == y).float(), conf


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--hidden", type=int, default=48)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--gamma", type=float, default=5.0)
    args = parser.parse_args()

    torch.manual_seed(23)
    x, y = patients(8000, 1)
    xv, yv = patients(2000, 2)
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model, criterion = TriageNet(args.hidden), FocalLoss(args.gamma)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    for epoch in range(1, args.epochs + 1):
        model.train()
        running = 0.0
        for xb, yb in loader:
            loss = criterion(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        scheduler.step()
        if epoch % 2 == 0:
            nll, right, conf = evaluate(model, xv, yv)
            print(f"epoch {epoch:2d}  loss {running / len(loader):.4f}  val nll {nll:.4f}  acc {right.mean():.4f}  "
                  f"mean confidence {conf.mean():.4f}")
    nll, right, conf = evaluate(model, xv, yv)
    sure = conf >= 0.9
    print(f"handled without a nurse (confidence >= 0.9): {sure.float().mean():.1%} of patients")
