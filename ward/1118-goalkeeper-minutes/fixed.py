"""Market value of goalkeepers from season tables."""
import io

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def season_table(n=3000, seed=10):
    """CSV as exported from the league site: minutes, saves, conceded, passes, age, height, value."""
    rng = np.random.default_rng(seed)
    minutes = rng.integers(90, 3400, n)
    minutes[rng.choice(n, 4, replace=False)] = 0
    skill = rng.normal(size=n)
    saves = rng.poisson(np.maximum(minutes, 0) / 90 * np.exp(1.1 + 0.15 * skill))
    conceded = rng.poisson(minutes / 90 * np.exp(0.3 - 0.25 * skill))
    passes = rng.poisson(minutes / 90 * np.exp(3.0 + 0.1 * skill))
    age = rng.integers(18, 38, n)
    height = rng.normal(190, 4, n).round()
    value = np.exp(0.6 * skill - 0.06 * (age - 27) + 0.0004 * minutes + 0.15 * rng.normal(size=n))
    buf = io.StringIO()
    np.savetxt(buf, np.stack([minutes, saves, conceded, passes, age, height, value], 1), delimiter=",", fmt="%.4f")
    return buf.getvalue()


class Keepers(Dataset):
    def __init__(self, rows):
        minutes, saves, conceded, passes, age, height, value = rows.T
        minutes = np.maximum(minutes, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            per90 = np.stack([saves, conceded, passes], 1) / minutes[:, None] * 90
        x = np.column_stack([per90, minutes, age, height])
        med = np.nanmedian(x, 0)
        iqr = np.nanpercentile(x, 75, axis=0) - np.nanpercentile(x, 25, axis=0)
        self.x = torch.tensor((x - med) / iqr, dtype=torch.float32).clamp(-5, 5)
        self.y = torch.tensor(np.log(value), dtype=torch.float32)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def main():
    torch.manual_seed(12)
    rows = np.genfromtxt(io.StringIO(season_table()), delimiter=",")
    data = Keepers(rows)
    train, test = torch.utils.data.random_split(data, [2400, 600])
    net = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    history = []
    loader = DataLoader(train, batch_size=40, shuffle=True)
    for epoch in range(6):
        net.train()
        for i, (x, y) in enumerate(loader):
            loss = nn.functional.l1_loss(net(x).squeeze(1), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            history.append(loss.item())
            if i % 20 == 19:
                print(f"epoch {epoch} batch {i + 1:3d}/{len(loader)} mean |error| {np.mean(history[-20:]):.4f}")
        net.eval()
        with torch.no_grad():
            errs = [(net(x).squeeze(1) - y).abs() for x, y in DataLoader(test, batch_size=200)]
        print(f"epoch {epoch} test median |error| {torch.cat(errs).median().item():.4f}")


if __name__ == "__main__":
    main()
