"""Growth of kelp plots: keep the checkpoint with the best validation error."""
import copy
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    plots: int = 1600
    val_plots: int = 6
    test_plots: int = 500
    batch: int = 40
    lr: float = 3e-3
    epochs: int = 12
    seed: int = 9


class Plots:
    def __init__(self, n, g):
        self.x = torch.randn(n, 7, generator=g)
        x = self.x
        self.y = torch.sin(1.5 * x[:, 0]) + 0.7 * x[:, 1] * x[:, 2] + 0.5 * x[:, 3] - 0.4 * torch.relu(x[:, 4]) + 0.6 * torch.randn(n, generator=g)


class Runner:
    def __init__(self, cfg):
        self.cfg = cfg
        self.g = torch.Generator().manual_seed(cfg.seed)
        torch.manual_seed(cfg.seed)
        self.train = Plots(cfg.plots, self.g)
        self.val = Plots(cfg.val_plots, self.g)
        self.test = Plots(cfg.test_plots, self.g)
        self.net = nn.Sequential(nn.Linear(7, 48), nn.SiLU(), nn.Linear(48, 24), nn.SiLU(), nn.Linear(24, 1))
        self.opt = torch.optim.Adam(self.net.parameters(), lr=cfg.lr)
        self.best = (float("inf"), -1, None)

    def one_epoch(self):
        self.net.train()
        losses = []
        for idx in torch.randperm(self.cfg.plots, generator=self.g).split(self.cfg.batch):
            loss = nn.functional.mse_loss(self.net(self.train.x[idx]).squeeze(1), self.train.y[idx])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    @torch.no_grad()
    def score(self, part):
        self.net.eval()
        return nn.functional.mse_loss(self.net(part.x).squeeze(1), part.y).item()

    def run(self):
        for epoch in range(self.cfg.epochs):
            train = self.one_epoch()
            val = self.score(self.val)
            if val < self.best[0]:
                self.best = (val, epoch, copy.deepcopy(self.net.state_dict()))
            print(f"epoch {epoch:2d} train {train:.3f} val {val:.3f} best epoch {self.best[1]}")
        self.net.load_state_dict(self.best[2])
        print(f"checkpoint of epoch {self.best[1]}: val {self.best[0]:.3f} test {self.score(self.test):.3f}")


Runner(Config()).run()
