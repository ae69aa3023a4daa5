from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

TAGS = ["action", "comedy", "drama", "horror", "romance", "sci-fi", "thriller", "western"]


@dataclass
class Config:
    n_films: int = 5000
    n_features: int = 40
    hidden: int = 64
    batch_size: int = 64
    lr: float = 2e-3
    epochs: int = 7
    seed: int = 9


class Tagger(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(cfg.n_features, cfg.hidden), nn.ReLU(), nn.Dropout(0.1))
        self.out = nn.Linear(cfg.hidden, len(TAGS))

    def forward(self, x):
        h = self.trunk(x)
        return self.out(h)


def build_data(cfg):
    x = torch.randn(cfg.n_films, cfg.n_features)
    w = torch.randn(cfg.n_features, len(TAGS)) / cfg.n_features ** 0.5
    s = x @ w + 0.4 * x[:, :8] * x[:, 8:16].sign() + 0.15 * torch.randn(cfg.n_films, len(TAGS))
    y = (s > s.quantile(0.6, dim=0)).float()
    cut = cfg.n_films * 4 // 5
    return TensorDataset(x[:cut], y[:cut]), TensorDataset(x[cut:], y[cut:])


def micro_f1(pred, y):
    tp = (pred * y).sum()
    return (2 * tp / (pred.sum() + y.sum())).item()


def run(cfg):
    torch.manual_seed(cfg.seed)
    train_set, val_set = build_data(cfg)
    train_loader = DataLoader(train_set, batch_size=cfg.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=500)
    model = Tagger(cfg)
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    for epoch in range(1, cfg.epochs + 1):
        model.train()
        tr = 0.0
        for x, y in train_loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            tr += loss.item() / len(train_loader)
        model.eval()
        with torch.no_grad():
            out = torch.cat([model(x) for x, _ in val_loader])
            y = val_set.tensors[1]
            va = criterion(out, y).item()
            f1 = micro_f1((out > 0.0).float(), y)
        print(f"epoch {epoch:2d}/{cfg.epochs} train {tr:.4f} val {va:.4f} micro-F1 {f1:.3f}")


if __name__ == "__main__":
    run(Config())
