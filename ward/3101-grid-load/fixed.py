# one-step-ahead forecast of an hourly electricity load, GRU on the last day and a half
import math
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(11)
torch.manual_seed(11)

hours = np.arange(24 * 7 * 30)
ar = np.zeros(len(hours))
for t in range(1, len(hours)):
    ar[t] = 0.8 * ar[t - 1] + rng.normal(0, 0.12)
weekend = ((hours // 24) % 7 >= 5).astype(float)
load = 5 + 1.6 * np.sin(2 * math.pi * (hours - 7) / 24) + 0.7 * np.sin(4 * math.pi * hours / 24 + 1) - 1.1 * weekend + ar

split = 24 * 7 * 24
mu, sd = load[:split].mean(), load[:split].std()
z = (load - mu) / sd
day = 2 * math.pi * hours / 24
series = torch.tensor(np.stack([z, np.sin(day), np.cos(day), weekend - 0.5], 1), dtype=torch.float32)
WINDOW = 36


def windows(series):
    w = series.unfold(0, WINDOW + 1, 1).transpose(1, 2)
    known = torch.cat([w[:, :-1, :1], w[:, 1:, 1:]], 2)      # the calendar of the hour to forecast is known
    return known.contiguous(), w[:, -1, :1].contiguous()


train_dl = DataLoader(TensorDataset(*windows(series[:split])), batch_size=64, shuffle=True)
val_x, val_y = windows(series[split - WINDOW:])


class LoadGRU(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(4, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, x):
        seq, _ = self.rnn(x)
        return self.head(seq[:, -1])


net = LoadGRU()
opt = torch.optim.RMSprop(net.parameters(), lr=2e-3, alpha=0.99)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.93)
mse = nn.MSELoss()
for epoch in range(20):
    net.train()
    history = []
    for xb, yb in train_dl:
        opt.zero_grad()
        err = mse(net(xb), yb)
        err.backward()
        opt.step()
        history.append(err.item())
    sched.step()
    net.eval()
    with torch.no_grad():
        val = mse(net(val_x), val_y).item()
    print(f"epoch {epoch + 1}: train mse {np.mean(history):.5f} (last batch {history[-1]:.5f})  val mse {val:.5f}  val rmse {math.sqrt(val) * sd:.3f} MW")
