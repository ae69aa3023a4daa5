"""Wave heights from buoys: windows are cut out of long recordings as training goes."""
import numpy as np
import torch
from torch import nn

config = {"window": 32, "ahead": 4, "batch": 48, "steps": 260, "lr": 2e-3, "seed": 7}


def recordings(seed, count=12, length=900):
    rng = np.random.default_rng(seed)
    t = np.arange(length)
    waves = [
        np.sin(t / rng.uniform(4, 9)) + 0.5 * np.sin(t / rng.uniform(11, 23) + rng.uniform(0, 6)) + 0.1 * rng.normal(size=length)
        for _ in range(count)
    ]
    return np.stack(waves).astype(np.float32)


class Windows:
    """An endless stream of batches."""

    def __init__(self, data, window, ahead, batch):
        self.data, self.window, self.ahead, self.batch = data, window, ahead, batch
        self.rng = np.random.default_rng(config["seed"])

    def __iter__(self):
        while True:
            buoys = self.rng.integers(len(self.data), size=self.batch)
            starts = self.rng.integers(self.data.shape[1] - self.window - self.ahead, size=self.batch)
            x = np.stack([self.data[b, s : s + self.window] for b, s in zip(buoys, starts)])
            y = np.array([self.data[b, s + self.window + self.ahead - 1] for b, s in zip(buoys, starts)])
            yield torch.from_numpy(x), torch.from_numpy(y)


class Forecaster(nn.Module):
    def __init__(self, window, hidden=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(window, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU())
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(1)


# reproducible runs: fixed seed, no algorithms that depend on timing
torch.manual_seed(config["seed"])
torch.use_deterministic_algorithms(True)

data = recordings(config["seed"])
stream = Windows(data[:10], config["window"], config["ahead"], config["batch"])
model = Forecaster(config["window"])
optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=config["steps"])
history = []
for step, (x, y) in enumerate(stream):
    if step == config["steps"]:
        break
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    history.append(loss.item())
    if step % 65 == 64:
        print(f"step {step + 1:3d} loss {np.mean(history[-65:]):.4f}")

with torch.no_grad():
    last = torch.from_numpy(np.lib.stride_tricks.sliding_window_view(data[10:], config["window"], axis=1)[:, : -config["ahead"]].copy())
    truth = torch.from_numpy(data[10:, config["window"] + config["ahead"] - 1 :])
    error = (model(last.reshape(-1, config["window"])) - truth[:, : last.shape[1]].reshape(-1)).abs().mean()
print(f"held-out buoys: mean error {error:.4f}")
