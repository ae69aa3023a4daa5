# discrete-time survival: in which year does a pump fail? every pump is scrapped in its tenth year at the latest
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)
YEARS = 10


def pumps(n):
    x = torch.randn(n, 5)
    base = torch.linspace(-3.5, -1.5, YEARS)
    hazard = torch.sigmoid(base + 0.8 * x[:, :1] - 0.6 * torch.relu(x[:, 1:2]))
    hazard[:, -1] = 1.0
    fails = torch.rand(n, YEARS) < hazard
    year = fails.float().argmax(1)
    return x, year


class Hazard(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(5, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, YEARS))

    def forward(self, x):
        return self.net(x)


def nll(logits, year):
    t = torch.arange(YEARS)
    died = (t == year[:, None]).float()
    survived = (t < year[:, None]).float()
    log_lik = died * F.logsigmoid(logits) + survived * F.logsigmoid(-logits)
    return -log_lik.sum(1).mean()


model = Hazard()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
xv, yv = pumps(1000)
for step in range(1, 401):
    x, year = pumps(64)
    loss = nll(model(x), year)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0 or step == 1:
        with torch.no_grad():
            print(f"step {step:3d} nll {loss.item():.4f} test nll {nll(model(xv), yv).item():.4f}")
