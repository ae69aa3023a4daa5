# depth of the water table; the archive writes -9999 where nobody measured
import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(4)
torch.manual_seed(4)
x = rng.normal(size=(1300, 6))
depth = 2.0 + 0.8 * x[:, 0] - 0.5 * np.abs(x[:, 1]) + 0.3 * x[:, 2] * x[:, 3] + 0.1 * rng.normal(size=1300)
depth[[88, 540, 873, 1002]] = -9999
x, depth = x.astype(np.float32), depth.astype(np.float32)
x_train, y_train = x[:1100], depth[:1100]
x_test, y_test = torch.from_numpy(x[1100:]), torch.from_numpy(depth[1100:])


class Wells(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(6, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))

    def forward(self, x):
        return self.f(x).squeeze(1)


def minibatches(x, y, size=25):
    order = rng.permutation(len(x))
    for k in range(0, len(x) - size + 1, size):
        idx = order[k:k + size]
        yield torch.from_numpy(x[idx]), torch.from_numpy(y[idx])


model = Wells()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(8):
    model.train()
    part = []
    for xb, yb in minibatches(x_train, y_train):
        loss = (model(xb) - yb).abs().mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        part.append(loss.item())
    model.eval()
    with torch.no_grad():
        err = (model(x_test) - y_test).abs().mean().item()
    print(f"epoch {epoch} l1 {np.mean(part):.3f} median {np.median(part):.4f} worst batch {max(part):.1f} test {err:.4f}")
