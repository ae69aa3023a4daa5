"""Book ratings of a reading club: matrix factorisation with biases."""
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class OptimConfig:
    name: str = "AdamW"
    lr: float = 1e-2
    weight_decay: float = 1e-3


@dataclass
class Experiment:
    members: int = 150
    books: int = 120
    ratings: int = 10000
    dim: int = 3
    batch_size: int = 160
    epochs: int = 7
    seed: int = 40
    optim: OptimConfig = field(default_factory=OptimConfig)


class Factorisation(nn.Module):
    def __init__(self, members, books, dim):
        super().__init__()
        self.member, self.book = nn.Embedding(members, dim), nn.Embedding(books, dim)
        self.member_bias, self.book_bias = nn.Embedding(members, 1), nn.Embedding(books, 1)
        self.mean = nn.Parameter(torch.zeros(1))
        for table in (self.member, self.book, self.member_bias, self.book_bias):
            nn.init.normal_(table.weight, std=0.15)

    def forward(self, m, b):
        dot = (self.member(m) * self.book(b)).sum(1)
        return dot + self.member_bias(m).squeeze(1) + self.book_bias(b).squeeze(1) + self.mean


def club(cfg):
    g = torch.Generator().manual_seed(cfg.seed)
    taste, theme = torch.randn(cfg.members, 2, generator=g), torch.randn(cfg.books, 2, generator=g)
    kind, fame = torch.randn(cfg.members, generator=g), torch.randn(cfg.books, generator=g)
    m = torch.randint(cfg.members, (cfg.ratings,), generator=g)
    b = torch.randint(cfg.books, (cfg.ratings,), generator=g)
    stars = 0.4 * (taste[m] * theme[b]).sum(1) + 0.6 * kind[m] + 0.8 * fame[b] + 0.4 * torch.randn(cfg.ratings, generator=g)
    return m, b, (stars - stars.mean()) / stars.std()


def build_optimizer(model, cfg):
    return getattr(torch.optim, cfg.name)(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)


def main(cfg=Experiment()):
    torch.manual_seed(cfg.seed)
    m, b, stars = club(cfg)
    cut = int(0.8 * cfg.ratings)
    loader = DataLoader(TensorDataset(m[:cut], b[:cut], stars[:cut]), batch_size=cfg.batch_size, shuffle=True)
    model = Factorisation(cfg.members, cfg.books, cfg.dim)
    optimizer = build_optimizer(model, cfg.optim)
    for epoch in range(cfg.epochs):
        model.train()
        total = 0.0
        for mb, bb, sb in loader:
            loss = nn.functional.mse_loss(model(mb, bb), sb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            val = nn.functional.mse_loss(model(m[cut:], b[cut:]), stars[cut:]).item()
        print(f"epoch {epoch + 1}/{cfg.epochs}: train mse {total / len(loader):.4f}, val mse {val:.4f}")


main()
