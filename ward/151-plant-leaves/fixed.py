from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class Config:
    features: int = 20
    classes: int = 6
    width: int = 64
    depth: int = 8
    lr: float = 0.5
    momentum: float = 0.9
    batch_size: int = 64
    epochs: int = 10
    eval_every: int = 10
    seed: int = 3


class LeafData:
    """Shape descriptors of leaves, one noisy curved cluster for each species."""

    def __init__(self, cfg):
        g = torch.Generator().manual_seed(100)
        self.centre = 0.9 * torch.randn(cfg.classes, cfg.features, generator=g)
        self.bend = 0.3 * torch.randn(cfg.classes, cfg.features, generator=g)
        self.g, self.cfg = g, cfg

    def draw(self, n):
        y = torch.randint(0, self.cfg.classes, (n,), generator=self.g)
        age = torch.randn(n, 1, generator=self.g)
        x = self.centre[y] + self.bend[y] * age ** 2 + torch.randn(n, self.cfg.features, generator=self.g)
        return x / 1.4, y


def make_model(cfg):
    layers, d = [], cfg.features
    for _ in range(cfg.depth):
        layers += [nn.Linear(d, cfg.width, bias=False), nn.BatchNorm1d(cfg.width), nn.ReLU()]
        d = cfg.width
    return nn.Sequential(*layers, nn.Linear(d, cfg.classes))


class Trainer:
    def __init__(self, cfg):
        torch.manual_seed(cfg.seed)
        self.cfg, self.data, self.model = cfg, LeafData(cfg), make_model(cfg)
        self.train_set, self.val_set = self.data.draw(1600), self.data.draw(400)
        self.loss = nn.CrossEntropyLoss()
        self.opt = torch.optim.SGD(self.model.parameters(), lr=cfg.lr, momentum=cfg.momentum, weight_decay=5e-4)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, cfg.epochs * (1600 // cfg.batch_size))

    def validate(self, step, recent):
        self.model.eval()
        x, y = self.val_set
        with torch.no_grad():
            out = self.model(x)
        print(f"step {step:4d} train {sum(recent) / len(recent):.4f} val {self.loss(out, y):.4f} acc {(out.argmax(1) == y).float().mean():.3f}")

    def run(self):
        x, y = self.train_set
        self.model.train()
        step, recent = 0, []
        for epoch in range(self.cfg.epochs):
            for idx in torch.randperm(len(y)).split(self.cfg.batch_size):
                loss = self.loss(self.model(x[idx]), y[idx])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                self.sched.step()
                step += 1
                recent.append(loss.item())
                if step % self.cfg.eval_every == 0:
                    self.validate(step, recent)
                    recent = []
                    self.model.train()


Trainer(Config()).run()
