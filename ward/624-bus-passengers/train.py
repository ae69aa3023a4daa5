# Counts of passengers per stop: the rate can't be negative, hence the ReLU at the end.
import torch
import torch.nn as nn

torch.manual_seed(27)


def stops(n):
    hour = torch.rand(n) * 2 - 1
    centre = torch.randn(n)
    rain = (torch.rand(n) < 0.3).float()
    rate = 2.0 + 3 * torch.exp(-4 * (hour - 0.4) ** 2) + 2 * torch.sigmoid(2 * centre) - 0.8 * rain
    return torch.stack([hour * 1.73, centre, (rain - 0.3) / 0.46], dim=1), torch.poisson(4 * rate) / 4


net = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1), nn.ReLU())
nn.init.constant_(net[4].bias, 2.0)
X, y = stops(3000)
Xv, yv = stops(600)
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
mse = nn.MSELoss()
for epoch in range(7):
    net.train()
    losses = []
    for b in torch.randperm(3000).split(50):
        opt.zero_grad()
        loss = mse(net(X[b]).squeeze(1), y[b])
        loss.backward()
        opt.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        pred = net(Xv).squeeze(1)
    print(f"epoch {epoch}  train {sum(losses) / len(losses):.3f}  val {mse(pred, yv):.3f}  (variance of the counts {yv.var():.2f})")
