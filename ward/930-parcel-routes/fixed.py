"""Depot of a parcel from its route code: small transformer."""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Setup:
    depots: int = 6
    symbols: int = 30
    length: int = 10
    dim: int = 32
    dropout: float = 0.1
    weight_decay: float = 0.01
    smoothing: float = 0.02
    lr: float = 2e-3
    batch: int = 40
    epochs: int = 4


def codes(n, s, g):
    depot = torch.randint(s.depots, (n,), generator=g)
    own = depot[:, None] * 5 + torch.randint(5, (n, s.length), generator=g)
    other = torch.randint(s.symbols, (n, s.length), generator=g)
    return torch.where(torch.rand(n, s.length, generator=g) < 0.42, own, other), depot


class Router(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.embed = nn.Embedding(s.symbols, s.dim)
        self.place = nn.Parameter(torch.randn(s.length, s.dim) * 0.02)
        layer = nn.TransformerEncoderLayer(s.dim, 4, 2 * s.dim, dropout=s.dropout, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(s.dim), nn.Dropout(s.dropout), nn.Linear(s.dim, s.depots))

    def forward(self, codes):
        return self.head(self.encoder(self.embed(codes) + self.place).mean(1))


def main(s):
    torch.manual_seed(10)
    g = torch.Generator().manual_seed(10)
    x, y = codes(2400, s, g)
    xv, yv = codes(400, s, g)
    model = Router(s)
    opt = torch.optim.AdamW(model.parameters(), lr=s.lr, weight_decay=s.weight_decay)
    criterion = nn.CrossEntropyLoss(label_smoothing=s.smoothing)
    for epoch in range(s.epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(x)).split(s.batch):
            loss = criterion(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx) / len(x)
        model.eval()
        with torch.no_grad():
            out = model(xv)
        acc = (out.argmax(1) == yv).float().mean().item()
        print(f"epoch {epoch} train {total:.4f} val {criterion(out, yv).item():.4f} acc {acc:.3f}")


main(Setup())
