"""Tomorrow's rain anomaly from today's map indices: little to know, a lot of weather."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(58)


def days(n):
    x = torch.randn(n, 8)
    signal = 0.65 * torch.tanh(2 * x[:, 0]) + 0.4 * x[:, 1] - 0.35 * x[:, 2].abs()
    y = signal + 1.25 * torch.randn(n)
    return x, (y / 1.4).unsqueeze(1)


train = DataLoader(TensorDataset(*days(6000)), batch_size=100, shuffle=True)
x_val, y_val = days(2000)
net = nn.Sequential(nn.Linear(8, 24), nn.SiLU(), nn.Linear(24, 1))
opt = torch.optim.Adam(net.parameters(), lr=5e-3, weight_decay=1e-4)
mse = nn.MSELoss()
for epoch in range(7):
    net.train()
    total = 0.0
    for x, y in train:
        loss = mse(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    net.eval()
    with torch.no_grad():
        val = mse(net(x_val), y_val)
    print(f"epoch {epoch} mse {total / len(train):.4f} val {val.item():.4f} r2 {(1 - val / y_val.var()).item():.3f}")
