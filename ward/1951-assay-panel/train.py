"""Toxicity panel: several assays per compound, and not every assay was run on every compound."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class PanelLoss(nn.Module):
    """Binary cross entropy over the assays that were run."""

    def forward(self, logits, target):
        run = ~torch.isnan(target)
        target = torch.nan_to_num(target, nan=0.0)
        each = nn.functional.binary_cross_entropy_with_logits(logits, target, reduction="none")
        return torch.where(run, each, torch.zeros_like(each)).sum() / run.sum().clamp(min=1)


def compounds(n, seed, assays=6, bits=64):
    rng = np.random.default_rng(seed)
    shared = np.random.default_rng(99)
    motif = shared.normal(0, 1, (bits, 10)) * (shared.random((bits, 10)) < 0.3)
    effect = shared.normal(0, 1.6, (10, assays))
    x = (rng.random((n, bits)) < 0.3).astype("float64")
    act = np.tanh((x - 0.3) @ motif) @ effect + rng.logistic(0, 0.4, (n, assays))
    y = (act > 0).astype("float32")
    y[rng.random((n, assays)) < 0.35] = np.nan
    return torch.tensor((x - 0.3) / 0.458, dtype=torch.float32), torch.tensor(y)


def accuracy(logits, target):
    run = ~torch.isnan(target)
    return ((logits > 0) == (target > 0.5))[run].float().mean().item()


def main():
    torch.manual_seed(70)
    x, y = compounds(5000, 1)
    xv, yv = compounds(1200, 2)
    loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 6))
    criterion = PanelLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.02)
    skipped = 0
    for epoch in range(16):
        model.train()
        total = 0.0
        for xb, yb in loader:
            loss = criterion(model(xb), yb)
            if not torch.isfinite(loss):
                skipped += 1
                continue
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            out = model(xv)
        print(f"epoch {epoch + 1:2d} train {total / len(loader):.4f} val {criterion(out, yv).item():.4f} "
              f"acc {accuracy(out, yv):.3f} skipped {skipped}")


if __name__ == "__main__":
    main()
