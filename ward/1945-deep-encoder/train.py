"""Row-by-row transformer for digits: each pixel pair is a token."""
from dataclasses import dataclass

import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Args:
    dim: int = 40
    heads: int = 4
    depth: int = 6
    lr: float = 3e-3
    epochs: int = 8
    batch: int = 50
    warmup: int = 0
    seed: int = 0


class Encoder(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.proj = nn.Linear(8, a.dim)
        self.pos = nn.Parameter(0.02 * torch.randn(8, a.dim))
        layer = nn.TransformerEncoderLayer(a.dim, a.heads, 2 * a.dim, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, a.depth, enable_nested_tensor=False)
        for p in self.layers.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)
        self.out = nn.Linear(a.dim, 10)

    def forward(self, x):
        return self.out(self.layers(self.proj(x) + self.pos).mean(1))


def factor(step, warmup, total):
    """Linear warm-up, then linear decay to zero."""
    if step < warmup:
        return (step + 1) / warmup
    return max(0.0, (total - step) / (total - warmup))


def main(a=Args()):
    torch.manual_seed(a.seed)
    d = load_digits()
    x, y = torch.tensor(d.images, dtype=torch.float32) / 8 - 1, torch.tensor(d.target)
    order = torch.randperm(len(x))
    tr, va = order[:1300], order[1300:]
    train = DataLoader(TensorDataset(x[tr], y[tr]), batch_size=a.batch, shuffle=True)
    model = Encoder(a)
    opt = torch.optim.Adam(model.parameters(), lr=a.lr)
    total = a.epochs * len(train)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: factor(s, a.warmup, total))
    for epoch in range(a.epochs):
        model.train()
        losses = []
        for xb, yb in train:
            loss = nn.functional.cross_entropy(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            out = model(x[va])
            v = nn.functional.cross_entropy(out, y[va]).item()
            acc = (out.argmax(1) == y[va]).float().mean().item()
        print(f"epoch {epoch + 1}: train {sum(losses) / len(losses):.4f} val {v:.4f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
