"""Night temperature at mountain huts from what the station reports."""
import torch
import torch.nn as nn

g = torch.Generator().manual_seed(19)
torch.manual_seed(19)


def reports(n):
    altitude = 600 + 2400 * torch.rand(n, generator=g)
    pressure = 101325 * torch.exp(-altitude / 8400) + 700 * torch.randn(n, generator=g)
    humidity = torch.rand(n, generator=g)
    cloud = torch.rand(n, generator=g)
    noon = 22 - 0.006 * altitude + 4 * torch.randn(n, generator=g)
    night = noon - 9 + 7 * cloud * humidity - 0.0015 * altitude + 0.5 * torch.randn(n, generator=g)
    return torch.stack([altitude, pressure, humidity, cloud, noon], 1), night.unsqueeze(1)


x, y = reports(2000)
x_val, y_val = reports(400)
y_mean, y_std = y.mean(), y.std()
y, y_val = (y - y_mean) / y_std, (y_val - y_mean) / y_std

net = nn.Sequential(nn.Linear(5, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)

for epoch in range(8):
    net.train()
    total = 0.0
    for idx in torch.randperm(len(x)).split(40):
        pred = net(x[idx])
        loss = nn.functional.mse_loss(pred, y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    net.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(net(x_val), y_val).item()
    print(f"epoch {epoch}: train {total / len(x):.4f} val {val:.4f}")
