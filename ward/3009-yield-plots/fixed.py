import numpy as np
import torch
import torch.nn as nn
from sklearn.preprocessing import StandardScaler


def seasons(years, plots, rng):
    """Plots of a farm: soil, weather and fertiliser -> tonnes per hectare. Weather gets warmer and drier."""
    rows, target = [], []
    for year in years:
        warm, rain_base = 14 + 0.22 * (year - 2000), 620 - 11 * (year - 2000)
        for _ in range(plots):
            temp, rain = rng.normal(warm, 1.6), rng.normal(rain_base, 80)
            clay, ph, n_kg = rng.uniform(10, 40), rng.normal(6.4, 0.5), rng.uniform(0, 180)
            t = (2.5 + 0.012 * n_kg + 0.008 * (rain - 500) - 0.22 * (temp - 15) + 0.03 * (clay - 25)
                 - 0.5 * (ph - 6.4) ** 2 + rng.normal(0, 0.2))
            rows.append([temp, rain, clay, ph, n_kg])
            target.append(t)
    return np.array(rows), np.array(target)[:, None]


class PlotData(torch.utils.data.Dataset):
    def __init__(self, rows, target, x_scaler, y_scaler):
        self.x = torch.tensor(x_scaler.transform(rows), dtype=torch.float32)
        self.y = torch.tensor(y_scaler.transform(target), dtype=torch.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, item):
        return self.x[item], self.y[item]


class Regressor(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.body(x))


class Experiment:
    def __init__(self, seed=9):
        torch.manual_seed(seed)
        rng = np.random.default_rng(seed)
        years = list(range(2000, 2022))
        valid_years = [2017, 2019, 2021]
        rows, target = seasons([y for y in years if y not in valid_years], 200, rng)
        self.x_scaler, self.y_scaler = StandardScaler().fit(rows), StandardScaler().fit(target)
        self.train_set = PlotData(rows, target, self.x_scaler, self.y_scaler)
        self.valid_set = PlotData(*seasons(valid_years, 200, rng), self.x_scaler, self.y_scaler)
        self.train_loader = torch.utils.data.DataLoader(self.train_set, batch_size=50, shuffle=True)
        self.valid_loader = torch.utils.data.DataLoader(self.valid_set, batch_size=200)
        self.model = Regressor()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=2e-3)
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, gamma=0.88)

    def epoch(self, loader, learn):
        self.model.train(learn)
        total = 0.0
        with torch.set_grad_enabled(learn):
            for x, y in loader:
                loss = nn.functional.mse_loss(self.model(x), y)
                if learn:
                    self.optimizer.zero_grad()
                    loss.backward()
                    self.optimizer.step()
                total += loss.item() * len(x)
        return total / len(loader.dataset)

    def run(self, epochs=28):
        for e in range(epochs):
            tr = self.epoch(self.train_loader, True)
            va = self.epoch(self.valid_loader, False)
            self.scheduler.step()
            if e % 2 == 1:
                print("epoch %2d   train mse %.4f   valid mse %.4f   valid R2 %.3f" % (
                    e + 1, tr, va, 1 - va / self.valid_set.y.var().item()))


Experiment().run()
