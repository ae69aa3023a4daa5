"""Calibration of a fluorescence sensor: log-intensity over temperature, exposure and concentration. Full-batch L-BFGS."""
import numpy as np
import torch
from torch import nn

torch.set_default_dtype(torch.float64)
torch.manual_seed(4)
rs = np.random.RandomState(4)

N = 30000
temp, expo, conc = rs.uniform(-1, 1, (3, N))
truth = 1.2 * np.exp(-0.8 * temp) * np.tanh(1.5 * expo + 0.5) + 0.6 * conc * temp
reading = truth + rs.normal(0, 0.6, N)          # the instrument is noisy: sd 0.6
X = torch.tensor(np.stack([temp, expo, conc], 1))
Y = torch.tensor((reading - reading[:24000].mean()))[:, None]
Xf, Yf, Xh, Yh = X[:24000], Y[:24000], X[24000:], Y[24000:]

net = nn.Sequential(nn.Linear(3, 12), nn.Tanh(), nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 1))
for m in net:
    if isinstance(m, nn.Linear):
        nn.init.xavier_normal_(m.weight)
        nn.init.zeros_(m.bias)
opt = torch.optim.LBFGS(net.parameters(), lr=1.0, max_iter=10, history_size=20, line_search_fn="strong_wolfe")


def closure():
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(Xf), Yf) + 1e-4 * sum((p ** 2).sum() for p in net.parameters())
    loss.backward()
    return loss


print(f"variance of the readings {Y.var().item():.4f}, of the noise {0.6 ** 2:.4f}")
for it in range(60):
    obj = opt.step(closure).item()
    with torch.no_grad():
        fit, held = nn.functional.mse_loss(net(Xf), Yf).item(), nn.functional.mse_loss(net(Xh), Yh).item()
    if it < 5 or it % 5 == 4:
        print(f"iter {it + 1:3d}  objective {obj:.5f}  fit mse {fit:.5f}  held-out mse {held:.5f}")
