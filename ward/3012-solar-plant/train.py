import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

# typical size of each channel: irradiance W/m2, air temperature, wind, panel temperature
UNITS = np.array([[1000.0], [30.0], [10.0], [50.0]])


def logger_dump(days=5600, seed=21):
    """Six readings a day of the station (channels, 6) and the energy of the day in MWh."""
    rng = np.random.RandomState(seed)
    season = np.sin(np.arange(days) / 365 * 2 * np.pi)
    hours = np.array([0.15, 0.55, 0.95, 0.95, 0.6, 0.2])
    cloud = rng.beta(2, 2, days)
    irr = (520 + 240 * season[:, None]) * hours * (1 - 0.75 * cloud[:, None]) + rng.normal(0, 12, (days, 6))
    temp = 12 + 9 * season[:, None] + 5 * hours + rng.normal(0, 2, (days, 6))
    wind = rng.gamma(3, 1.3, (days, 6))
    panel = temp + irr * 0.03 - 0.5 * wind + rng.normal(0, 1, (days, 6))
    energy = (irr * (1 - 0.004 * (panel - 25))).sum(1) / 400 + rng.normal(0, 0.08, days)
    table = np.stack([irr, temp, wind, panel], 1)
    for day in rng.choice(days, 26, replace=False):
        if rng.rand() < 0.4:
            energy[day] = -999.0
        else:
            table[day, rng.randint(1, 4), rng.randint(6)] = -999.0
    return table, energy


def prepare():
    table, energy = logger_dump()
    x = torch.tensor(table / UNITS, dtype=torch.float32)
    y = torch.tensor((energy - 3.0) / 1.5, dtype=torch.float32)
    return TensorDataset(x, y)


class DayNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(4, 24, 3, padding=1), nn.ReLU(), nn.Conv1d(24, 24, 3, padding=1), nn.ReLU())
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(24 * 6, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.head(self.conv(x)).squeeze(-1)


torch.manual_seed(21)
data = prepare()
n_val = 1000
train_set, val_set = random_split(data, [len(data) - n_val, n_val])
train_dl = DataLoader(train_set, batch_size=32, shuffle=True)
val_dl = DataLoader(val_set, batch_size=n_val)
model = DayNet()
optimizer = torch.optim.Adam(model.parameters(), lr=7e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 24)
criterion = nn.SmoothL1Loss()
for epoch in range(24):
    model.train()
    losses = []
    for x, y in train_dl:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    scheduler.step()
    model.eval()
    with torch.no_grad():
        val = np.mean([criterion(model(x), y).item() for x, y in val_dl])
    print(f"epoch {epoch:2d} train mean {np.mean(losses):.4f} median {np.median(losses):.4f} max {np.max(losses):.3f} val {val:.4f}")
