"""Concrete strength regression with Monte-Carlo dropout error bars (Gal & Ghahramani 2016)."""
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Cfg:
    n_train: int = 3000
    n_val: int = 600
    hidden: int = 96
    p: float = 0.1
    passes: int = 30
    epochs: int = 24
    batch: int = 50
    lr: float = 2e-3
    seed: int = 70


def mixes(n, rng):
    cement, water, age = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n), rng.uniform(0.1, 3, n)
    ash, slag, sand = rng.uniform(-1, 1, (3, n))
    strength = (1.2 * cement - 0.9 * water + 0.8 * np.log(age) + 0.5 * slag * cement - 0.4 * ash ** 2
                + 0.25 * rng.normal(size=n))
    X = np.stack([cement, water, age - 1.5, ash, slag, sand], 1)
    return torch.tensor(X, dtype=torch.float32), torch.tensor((strength - 0.1) / 1.2, dtype=torch.float32)


class BayesMLP(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, cfg.hidden), nn.ReLU(), nn.Dropout(cfg.p),
                                 nn.Linear(cfg.hidden, cfg.hidden), nn.ReLU(), nn.Dropout(cfg.p),
                                 nn.Linear(cfg.hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def enable_dropout(model):
    for m in model.modules():
        if isinstance(m, nn.Dropout):
            m.train()


@torch.no_grad()
def predict(model, x, passes):
    """Mean and spread over stochastic forward passes."""
    model.eval()
    enable_dropout(model)
    draws = torch.stack([model(x) for _ in range(passes)])
    return draws.mean(0), draws.std(0)


def main():
    cfg = Cfg()
    torch.manual_seed(cfg.seed)
    rng = np.random.default_rng(cfg.seed)
    loader = DataLoader(TensorDataset(*mixes(cfg.n_train, rng)), batch_size=cfg.batch, shuffle=True)
    xv, yv = mixes(cfg.n_val, rng)
    model = BayesMLP(cfg)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr, weight_decay=1e-5)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, cfg.epochs)
    mse = nn.MSELoss()
    for epoch in range(1, cfg.epochs + 1):
        model.train()
        running = 0.0
        for x, y in loader:
            loss = mse(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item()
        sched.step()
        if epoch % 2 == 0:
            mean, std = predict(model, xv, cfg.passes)
            err = mse(mean, yv).item()
            rho = torch.corrcoef(torch.stack([std, (mean - yv).abs()]))[0, 1].item()
            print(f"epoch {epoch:2d}  train mse {running / len(loader):.4f}  val mse {err:.4f}  spread {std.mean():.3f}  corr(spread, error) {rho:.2f}")


if __name__ == "__main__":
    main()
