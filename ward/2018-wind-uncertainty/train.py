"""Predict mean and spread of a turbine's output; the spread grows with the gusts."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class MeanAndSpread(nn.Module):
    def __init__(self, n_in, width=48):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_in, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.mean = nn.Linear(width, 1)
        self.log_var = nn.Linear(width, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.mean(h), self.log_var(h)


def gaussian_nll(mean, log_var, y):
    return 0.5 * (log_var + (y - mean) ** 2 * torch.exp(-log_var)).mean()


def turbine_log(n, seed):
    rng = np.random.default_rng(seed)
    speed = rng.weibull(2.0, n) * 8
    gust = rng.gamma(2.0, 0.5, n)
    direction = rng.uniform(0, 2 * np.pi, n)
    temperature = rng.normal(10, 7, n)
    power = 1 / (1 + np.exp(-(speed - 8.5) / 1.4)) * (1 + 0.06 * np.cos(direction)) * (1 - 0.002 * (temperature - 10))
    noise = 0.03 + 0.04 * gust * power
    power = power + noise * rng.normal(size=n)
    x = np.stack([(speed - 7.1) / 3.7, (gust - 1.0) / 0.7, np.cos(direction) * 1.4, np.sin(direction) * 1.4,
                  (temperature - 10) / 7], axis=1)
    return torch.tensor(x, dtype=torch.float32), torch.tensor((power - 0.38) / 0.35, dtype=torch.float32).unsqueeze(1)


def coverage(model, x, y):
    with torch.no_grad():
        mean, log_var = model(x)
        inside = (y - mean).abs() < 1.645 * torch.exp(0.5 * log_var)
    return inside.float().mean().item()


def main():
    torch.manual_seed(9)
    train_set = TensorDataset(*turbine_log(8000, 9))
    x_val, y_val = turbine_log(2000, 10)
    loader = DataLoader(train_set, batch_size=100, shuffle=True)
    model = MeanAndSpread(x_val.shape[1])
    epochs = 36
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=2e-3, total_steps=epochs * len(loader), pct_start=0.2)
    for epoch in range(epochs):
        model.train()
        seen = 0.0
        for x, y in loader:
            loss = gaussian_nll(*model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            seen += loss.item()
        model.eval()
        with torch.no_grad():
            val = gaussian_nll(*model(x_val), y_val).item()
        if epoch % 3 == 2:
            print(f"{epoch + 1:3d}: train nll {seen / len(loader):.4f} val nll {val:.4f} "
                  f"90% interval covers {coverage(model, x_val, y_val):.3f}")


if __name__ == "__main__":
    main()
