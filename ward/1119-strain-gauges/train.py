import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(23)
torch.manual_seed(23)


def read_bridge_log(n, from_b):
    """Twelve strain gauges and the axle load (in multiples of 10 t) of the lorry above them."""
    load = rng.uniform(0.5, 4.0, n)
    pos = rng.uniform(0, 1, n)
    gauges = np.linspace(0, 1, 12)
    strain = load[:, None] * np.exp(-((gauges[None] - pos[:, None]) / 0.25) ** 2) + 0.05 * rng.normal(size=(n, 12))
    rows = rng.choice(n, from_b, replace=False)
    strain[rows] = rng.normal(0, 150, (from_b, 12))
    return strain.astype("float32"), load.astype("float32")


def batches(strain, load, size, rng):
    while True:
        order = rng.permutation(len(load))
        for start in range(0, len(order) - size + 1, size):
            idx = order[start:start + size]
            yield torch.from_numpy(strain[idx]), torch.from_numpy(load[idx])


strain, load = read_bridge_log(2048, from_b=10)
test_strain, test_load = read_bridge_log(400, from_b=0)
mean, std = np.median(strain, 0), np.percentile(strain, 84, axis=0) - np.median(strain, 0)
strain, test_strain = (strain - mean) / std, (test_strain - mean) / std
load_mean = load.mean()

net = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
stream = batches(strain, load - load_mean, 32, rng)

window = []
for it in range(1, 513):
    x, y = next(stream)
    loss = nn.functional.mse_loss(net(x).squeeze(-1), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    window.append(loss.item())
    if it % 32 == 0:
        with torch.no_grad():
            pred = net(torch.from_numpy(test_strain)).squeeze(-1) + load_mean
            rmse = (pred - torch.from_numpy(test_load)).pow(2).mean().sqrt().item()
        print(f"iter {it}: loss median {np.median(window):.4f} max {np.max(window):.3f} | test rmse {rmse:.4f}")
        window = []
