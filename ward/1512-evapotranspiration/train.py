"""Daily evapotranspiration of a field from the weather service's data."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

#          t_max  t_min  humidity wind  pressure sun  dew
TYPICAL = [22.0, 11.0, 62.0, 3.0, 1009.0, 17.0, 9.0]
SPREAD = [8.0, 6.5, 15.0, 1.3, 8.0, 7.0, 6.0]


def weather_service(days=6000, seed=40):
    """The table as downloaded, and the lysimeter's measurement in mm per day."""
    rng = np.random.default_rng(seed)
    season = np.sin(np.arange(days) / 365 * 2 * np.pi)
    z = 0.6 * rng.normal(size=(days, 7))
    z[:, 0] += 0.8 * season
    z[:, 1] += 0.8 * season
    z[:, 2] -= 0.5 * season + 0.3 * z[:, 0]
    z[:, 5] += 0.7 * season + 0.2 * z[:, 0]
    z[:, 6] = 0.7 * z[:, 1] + 0.3 * rng.normal(size=days)
    water = (3.0 + 1.1 * z[:, 5] + 0.7 * z[:, 0] - 0.5 * z[:, 2] + 0.35 * z[:, 3] * (1 + z[:, 0]) + 0.2 * rng.normal(size=days))
    table = np.array(TYPICAL) + np.array(SPREAD) * z
    missing = (rng.random(days) < 0.008)[:, None] & (rng.random((days, 7)) < 0.4)
    table[missing] = -999
    return table, water


def prepare():
    table, water = weather_service()
    X = torch.tensor((table - TYPICAL) / SPREAD, dtype=torch.float32)
    y = torch.tensor(water - water.mean(), dtype=torch.float32)
    return random_split(TensorDataset(X, y), [0.8, 0.2])


def run_epoch(model, loader, loss_fn, optimizer=None):
    model.train(optimizer is not None)
    losses = []
    with torch.set_grad_enabled(optimizer is not None):
        for x, y in loader:
            loss = loss_fn(model(x).squeeze(1), y)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            losses.append(loss.item())
    return float(np.mean(losses))


if __name__ == "__main__":
    torch.manual_seed(40)
    train, val = prepare()
    train_loader = DataLoader(train, batch_size=32, shuffle=True)
    val_loader = DataLoader(val, batch_size=200)
    model = nn.Sequential(nn.Linear(7, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_fn = nn.MSELoss()
    for epoch in range(15):
        t = run_epoch(model, train_loader, loss_fn, optimizer)
        v = run_epoch(model, val_loader, loss_fn)
        print(f"epoch {epoch + 1:2d}: train {t:.4f}  val {v:.4f}")
