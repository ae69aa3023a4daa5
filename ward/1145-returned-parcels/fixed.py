"""How many days after delivery does a parcel come back? Tabular net on the orders table."""
import numpy as np
import torch
from torch import nn

CONFIG = {
    "rows": 2400,
    "sellers": 25000,
    "hidden": [32, 32],
    "lr": 3e-3,
    "epochs": 8,
    "batch_size": 64,
    "seed": 31,
}


def returns(cfg):
    rng = np.random.default_rng(cfg["seed"])
    n = cfg["rows"]
    table = {
        "price": rng.gamma(3.0, 20.0, n),
        "weight": rng.gamma(2.0, 1.5, n),
        "category": rng.integers(0, 6, n),
        "prime": rng.random(n) < 0.4,
        "distance": rng.gamma(2.0, 150.0, n),
        "seller": rng.integers(0, cfg["sellers"], n),
    }
    days = (6 + 0.04 * table["price"] + np.array([0, 2, 5, 1, 3, 8])[table["category"]]
            - 2.5 * table["prime"] + 0.006 * table["distance"] + rng.normal(0, 2.5, n))
    return table, days.clip(0.5).astype(np.float32)


def group_mean(keys, values):
    """Mean of `values` over all rows with the same key."""
    total = np.bincount(keys, weights=values)
    count = np.bincount(keys)
    return (total / np.maximum(count, 1))[keys]


def features(table, days):
    columns = [np.log(table["price"]), np.log1p(table["weight"]), table["prime"], np.log1p(table["distance"])]
    columns += [table["category"] == k for k in range(6)]
    return np.stack(columns, axis=1).astype(np.float32)


def mlp(n_in, hidden):
    layers = []
    for width in hidden:
        layers += [nn.Linear(n_in, width), nn.ReLU()]
        n_in = width
    return nn.Sequential(*layers, nn.Linear(n_in, 1))


def run(cfg):
    torch.manual_seed(cfg["seed"])
    table, days = returns(cfg)
    x, y = features(table, days), days
    n = int(0.75 * len(y))
    x = (x - x[:n].mean(0)) / x[:n].std(0)
    y = (y - y[:n].mean()) / y[:n].std()
    x, y = torch.from_numpy(x), torch.from_numpy(y).unsqueeze(1)
    net = mlp(x.shape[1], cfg["hidden"])
    opt = torch.optim.Adam(net.parameters(), lr=cfg["lr"], weight_decay=1e-4)
    mse = nn.MSELoss()
    for epoch in range(cfg["epochs"]):
        net.train()
        losses = []
        for b in torch.randperm(n).split(cfg["batch_size"]):
            loss = mse(net(x[b]), y[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
        net.eval()
        with torch.no_grad():
            val = mse(net(x[n:]), y[n:]).item()
        print(f"epoch {epoch:2d}  train mse {np.mean(losses):.4f}  val mse {val:.4f}  R2 {1 - val / y[n:].var().item():.3f}")


if __name__ == "__main__":
    run(CONFIG)
