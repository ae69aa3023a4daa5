"""Multi-label tagging of patient notes (bag of findings -> conditions)."""
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Settings:
    n_notes: int = 3600
    n_findings: int = 200
    n_tags: int = 8
    hidden: list = field(default_factory=lambda: [128, 128, 64])
    dropout: float = 0.3
    lr: float = 1e-3
    batch_size: int = 64
    epochs: int = 20


def generate_notes(s, seed=0):
    rng = np.random.default_rng(seed)
    tags = rng.random((s.n_notes, s.n_tags)) < 0.25
    findings = rng.random((s.n_notes, s.n_findings)) < 0.04
    for t in range(s.n_tags):
        typical = rng.choice(s.n_findings, 12, replace=False)
        shown = rng.random((s.n_notes, 12)) < 0.45
        findings[:, typical] |= shown & tags[:, t:t + 1]
    return torch.tensor(findings, dtype=torch.float32), torch.tensor(tags, dtype=torch.float32)


class TagModel(nn.Module):
    def __init__(self, s):
        super().__init__()
        sizes = [s.n_findings] + s.hidden
        blocks = []
        for a, b in zip(sizes[:-1], sizes[1:]):
            blocks += [nn.Linear(a, b), nn.ReLU(), nn.Dropout(s.dropout)]
        self.body = nn.Sequential(*blocks)
        self.out = nn.Linear(sizes[-1], s.n_tags)

    def forward(self, x):
        return self.out(self.body(x))


def micro_f1(logits, target):
    pred = (logits > 0).float()
    tp = (pred * target).sum().item()
    return 2 * tp / max(pred.sum().item() + target.sum().item(), 1)


def main():
    s = Settings()
    torch.manual_seed(1)
    x, y = generate_notes(s)
    n = int(0.8 * s.n_notes)
    train_dl = DataLoader(TensorDataset(x[:n], y[:n]), batch_size=s.batch_size, shuffle=True)
    model = TagModel(s)
    optimizer = torch.optim.Adam(model.parameters(), lr=s.lr)
    loss_fn = nn.BCEWithLogitsLoss()
    for epoch in range(s.epochs):
        model.train()
        losses = []
        for xb, yb in train_dl:
            loss = loss_fn(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            logits = model(x[n:])
            val_loss = loss_fn(logits, y[n:]).item()
        if epoch % 2 == 1:
            print(f"epoch {epoch + 1:2d} | train {np.mean(losses):.4f} | val {val_loss:.4f} | micro-F1 {micro_f1(logits, y[n:]):.3f}")


if __name__ == "__main__":
    main()
