import io

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED = 21
COLUMNS = "rain_mm,temp_c,sunshine_h,nitrogen_kg,ph,clay_pct,sowing_day,irrigated,yield_t_ha"


def field_book(n_plots, rng):
    """The field book as the research station exports it (one line per plot)."""
    lines = [COLUMNS]
    for _ in range(n_plots):
        rain, temp, sun = rng.normal(420, 90), rng.normal(16, 2.5), rng.normal(900, 120)
        nitro, ph, clay = rng.uniform(0, 200), rng.normal(6.5, 0.5), rng.uniform(5, 45)
        sow, irr = rng.integers(60, 110), int(rng.random() < 0.3)
        water = rain + 120 * irr
        y = (3.2 + 2.6 * (1 - np.exp(-nitro / 70)) - ((water - 520) / 230) ** 2 - 0.6 * (ph - 6.6) ** 2
             + 0.12 * (temp - 16) - 0.015 * (sow - 85) + 0.001 * (sun - 900) + rng.normal(0, 0.25))
        y = f"{max(y, 0.3):.2f}" if rng.random() > 0.006 else ""
        lines.append(f"{rain:.0f},{temp:.1f},{sun:.0f},{nitro:.0f},{ph:.2f},{clay:.0f},{sow},{irr},{y}")
    return "\n".join(lines)


class Standardise:
    def __init__(self, x):
        self.mean, self.std = x.mean(0), x.std(0)

    def __call__(self, x):
        return (x - self.mean) / self.std


class YieldNet(nn.Module):
    def __init__(self, n_in, hidden=48):
        super().__init__()
        self.l1 = nn.Linear(n_in, hidden)
        self.l2 = nn.Linear(hidden, hidden)
        self.l3 = nn.Linear(hidden, 1)

    def forward(self, x):
        x = F.silu(self.l1(x))
        x = F.silu(self.l2(x))
        return self.l3(x).squeeze(1)


def load():
    rng = np.random.default_rng(SEED)
    table = np.genfromtxt(io.StringIO(field_book(4000, rng)), delimiter=",", skip_header=1)
    table = table[~np.isnan(table[:, -1])]  # plots that were never harvested
    table = table[rng.permutation(len(table))]
    cut = int(0.8 * len(table))
    scale = Standardise(table[:cut, :-1])
    x = torch.tensor(scale(table[:, :-1]), dtype=torch.float32)
    y = torch.tensor(table[:, -1] / 5.0, dtype=torch.float32)  # around one
    return (x[:cut], y[:cut]), (x[cut:], y[cut:])


def fit(model, train, valid, epochs=30, batch=64, lr=2e-3):
    opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=1e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs)
    x, y = train
    for epoch in range(epochs):
        model.train()
        losses = []
        for idx in torch.randperm(len(x)).split(batch):
            loss = F.mse_loss(model(x[idx]), y[idx])
            opt.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            losses.append(loss.item())
        sched.step()
        if epoch % 5 == 0 or epoch == epochs - 1:
            model.eval()
            with torch.no_grad():
                err = model(valid[0]) - valid[1]
            print(f"epoch {epoch:3d}  train mse {np.mean(losses):.5f}  valid mse {err.pow(2).mean():.5f}"
                  f"  valid mae {5 * err.abs().mean():.3f} t/ha")


if __name__ == "__main__":
    torch.manual_seed(SEED)
    train, valid = load()
    print("plots:", len(train[0]), "train,", len(valid[0]), "valid")
    fit(YieldNet(train[0].shape[1]), train, valid)
