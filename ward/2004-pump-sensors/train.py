"""Estimate the flow of a pump from its sensor readings."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CFG = {"hidden": 64, "lr": 1e-3, "batch_size": 64, "epochs": 30, "seed": 4, "log_every": 3}
SENSORS = ("pressure_in", "pressure_out", "rpm", "temperature", "valve", "current")
NOMINAL = {"pressure_in": (2.0, 0.5), "pressure_out": (6.0, 1.0), "rpm": (1450.0, 120.0),
           "temperature": (45.0, 8.0), "valve": (0.6, 0.2), "current": (11.0, 2.0)}


def read_log(n, rng):
    cols = {k: rng.normal(m, s, n) for k, (m, s) in NOMINAL.items()}
    cols["valve"] = cols["valve"].clip(0.05, 1.0)
    head = (cols["pressure_out"] - cols["pressure_in"]).clip(1.5)
    flow = 0.02 * cols["rpm"] * cols["valve"] / np.sqrt(head) + 0.15 * (cols["current"] - 11.0)
    flow += rng.normal(0, 0.3, n)
    lost = rng.random((n, len(SENSORS))) < 0.0006
    table = np.stack([cols[k] for k in SENSORS], axis=1)
    table[lost] = 32767.0
    return table, flow


def load(cfg):
    rng = np.random.default_rng(cfg["seed"])
    table, flow = read_log(8000, rng)
    centre = np.array([NOMINAL[k][0] for k in SENSORS])
    spread = np.array([NOMINAL[k][1] for k in SENSORS])
    x = torch.tensor((table - centre) / spread, dtype=torch.float32)
    y = torch.tensor((flow - 8.9) / 3.5, dtype=torch.float32).unsqueeze(1)
    n_train = int(len(x) * 0.8)
    return TensorDataset(x[:n_train], y[:n_train]), TensorDataset(x[n_train:], y[n_train:])


def run_epoch(model, loader, loss_fn, opt=None):
    model.train(opt is not None)
    losses = []
    with torch.set_grad_enabled(opt is not None):
        for xb, yb in loader:
            loss = loss_fn(model(xb), yb)
            if opt is not None:
                opt.zero_grad()
                loss.backward()
                opt.step()
            losses.append(loss.item())
    return float(np.mean(losses)), float(np.median(losses)), float(np.max(losses))


def main(cfg):
    torch.manual_seed(cfg["seed"])
    train_set, val_set = load(cfg)
    train_loader = DataLoader(train_set, batch_size=cfg["batch_size"], shuffle=True)
    val_loader = DataLoader(val_set, batch_size=cfg["batch_size"])
    h = cfg["hidden"]
    model = nn.Sequential(nn.Linear(len(SENSORS), h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 1))
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    loss_fn = nn.MSELoss()
    for epoch in range(1, cfg["epochs"] + 1):
        mean, median, worst = run_epoch(model, train_loader, loss_fn, opt)
        v_mean, v_median, _ = run_epoch(model, val_loader, loss_fn)
        if epoch % cfg["log_every"] == 0:
            print(f"[{epoch:3d}] train mean {mean:.4f} median {median:.4f} worst {worst:.4f} | "
                  f"val mean {v_mean:.4f} median {v_median:.4f}")


if __name__ == "__main__":
    main(CFG)
