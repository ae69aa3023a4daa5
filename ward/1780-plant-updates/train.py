"""Yield model of a chemical plant, updated every quarter with the newest batch records."""
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn

QUARTERS = ["Q1", "Q2", "Q3", "Q4"]


@dataclass
class Plan:
    hidden: int = 64
    lr: float = 2e-3
    epochs: int = 25
    batch: int = 50
    records: int = 1500
    seed: int = 3


def quarter_records(q, n, seed):
    """Each quarter runs another product (recipe one-hot); the response to the settings differs by product."""
    rng = np.random.default_rng([seed, q])
    settings = rng.normal(size=(n, 6))
    mix = np.random.default_rng([77, q]).normal(size=6)
    y = settings @ mix * 0.4 + np.sin(1.5 * settings[:, q]) + 0.15 * rng.normal(size=n)
    recipe = np.eye(len(QUARTERS))[np.full(n, q)]
    return torch.tensor(np.hstack([settings, recipe]), dtype=torch.float32), torch.tensor(y, dtype=torch.float32)


class YieldModel(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x)[:, 0]


class YieldService:
    def __init__(self, plan):
        self.plan = plan
        self.model = YieldModel(plan.hidden)

    def update(self, x, y, x_val, y_val):
        opt = torch.optim.Adam(self.model.parameters(), lr=self.plan.lr)
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=self.plan.epochs)
        for epoch in range(self.plan.epochs):
            self.model.train()
            total = 0.0
            for ids in torch.randperm(len(y)).split(self.plan.batch):
                loss = nn.functional.mse_loss(self.model(x[ids]), y[ids])
                opt.zero_grad()
                loss.backward()
                opt.step()
                total += loss.item() * len(ids)
            sched.step()
            if epoch % 8 == 0 or epoch == self.plan.epochs - 1:
                print(f"   epoch {epoch + 1:2d} train mse {total / len(y):.4f} val mse {self.error(x_val, y_val):.4f}")

    @torch.no_grad()
    def error(self, x, y):
        self.model.eval()
        return nn.functional.mse_loss(self.model(x), y).item()


def main():
    plan = Plan()
    torch.manual_seed(plan.seed)
    service = YieldService(plan)
    tests = []
    for q, name in enumerate(QUARTERS):
        x, y = quarter_records(q, plan.records, plan.seed)
        tests.append(quarter_records(q, 400, plan.seed + 100))
        print(f"{name}: {len(y)} new records")
        service.update(x, y, *tests[-1])
    print("test mse by quarter: " + "  ".join(f"{n} {service.error(*t):.3f}" for n, t in zip(QUARTERS, tests)))


if __name__ == "__main__":
    main()
