"""Kind of transmitter from antenna power spectra, kept in half precision to save memory."""
import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(6)
torch.manual_seed(6)
BINS, KINDS = 32, 4
axis = np.arange(BINS)


def scans(n):
    kind = rng.integers(0, KINDS, n)
    centre = np.array([6, 12, 19, 26])[kind] + rng.normal(0, 1.5, n)
    width = np.array([2.0, 4.0, 2.0, 4.0])[kind]
    gain = 10 ** rng.uniform(1.5, 4.6, n)
    gain[rng.random(n) < 0.004] *= 12
    power = gain[:, None] * (np.exp(-((axis - centre[:, None]) / width[:, None]) ** 2) + 0.02 * rng.random((n, BINS)) + 0.01)
    return power.astype(np.float32), kind


power, kind = scans(2400)
test_power, test_kind = scans(400)


def features(p):
    return torch.log1p(torch.from_numpy(p).float()) / 5 - 0.8


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, 16, 5, padding=2), nn.GELU(), nn.AvgPool1d(2), nn.Conv1d(16, 16, 3, padding=1), nn.GELU())
        self.fc = nn.Linear(16 * BINS // 2, KINDS)

    def forward(self, x):
        return self.fc(self.conv(x.unsqueeze(1)).flatten(1))


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
labels = torch.from_numpy(kind)
for epoch in range(4):
    net.train()
    order = rng.permutation(len(power))
    history = []
    for k in range(0, len(order), 40):
        idx = order[k:k + 40]
        logits = net(features(power[idx]))
        loss = nn.functional.cross_entropy(logits, labels[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        history.append(loss.item())
    net.eval()
    with torch.no_grad():
        acc = (net(features(test_power)).argmax(1).numpy() == test_kind).mean()
    print(f"epoch {epoch} loss {history[0]:.4f} -> {history[-1]:.4f} test accuracy {acc:.3f}")
