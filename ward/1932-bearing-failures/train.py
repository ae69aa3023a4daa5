"""Predict bearing failures within the next shift from vibration windows."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def vibration(n, seed, length=24, share=0.07):
    rng = np.random.default_rng(seed)
    fails = rng.random(n) < share
    x = rng.standard_normal((n, length, 2))
    x[:, :, 1] = 0.6 * x[:, :, 0] + 0.8 * x[:, :, 1]
    ramp = np.linspace(0, 1, length) ** 2
    strength = np.where(fails, rng.gamma(5.0, 0.18, n), np.where(rng.random(n) < 0.4, rng.gamma(2.0, 0.25, n), 0.0))
    x[:, :, 0] += strength[:, None] * ramp * 1.2
    return torch.tensor(x, dtype=torch.float32), torch.tensor(fails, dtype=torch.float32)


class FailureNet(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.gru = nn.GRU(2, hidden, batch_first=True)
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, x):
        _, h = self.gru(x)
        return self.fc(self.drop(h[-1])).squeeze(-1)


def scores(model, loader, criterion):
    model.eval()
    logits, truth = [], []
    with torch.no_grad():
        for xb, yb in loader:
            logits.append(model(xb))
            truth.append(yb)
    logits, truth = torch.cat(logits), torch.cat(truth)
    said = logits > 0
    return criterion(logits, truth).item(), (said == truth.bool()).float().mean().item(), said, truth.bool()


def main():
    torch.manual_seed(3)
    x, y = vibration(4000, seed=1)
    xv, yv = vibration(2000, seed=2)
    train = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    val = DataLoader(TensorDataset(xv, yv), batch_size=500)
    model = FailureNet()
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1.5e-3)
    for epoch in range(1, 13):
        model.train()
        running = 0.0
        for xb, yb in train:
            loss = criterion(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            running += loss.item()
        vloss, acc, said, truth = scores(model, val, criterion)
        print(f"epoch {epoch}: loss {running / len(train):.4f} val_loss {vloss:.4f} val_acc {acc:.4f}")
    hit = int((said & truth).sum())
    print(f"failures announced {hit} of {int(truth.sum())}; false alarms {int((said & ~truth).sum())} of {int((~truth).sum())}")


if __name__ == "__main__":
    main()
