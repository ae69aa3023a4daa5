# NIR reflectance -> moisture of hay bales
import torch, torch.nn as nn

torch.manual_seed(55)

n, bands = 1500, 30
wl = torch.linspace(0, 1, bands)
moist = torch.rand(n) * 0.3 + 0.08
scatter = 1 + 0.1 * torch.randn(n, 1)
spec = scatter * (0.6 - moist[:, None] * (1.2 * torch.exp(-((wl - 0.35) / 0.06) ** 2) + 2.0 * torch.exp(-((wl - 0.8) / 0.08) ** 2)))
spec = spec + 0.01 * torch.randn(n, bands)

mean, std = spec[:1200].mean(0), spec[:1200].std(0)
X = (spec - mean) / std
target = (moist - moist[:1200].mean()) / moist[:1200].std()


class NIR(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(bands, 50)
        self.b = nn.Linear(50, 20)
        self.c = nn.Linear(20, 1)
        self.act = nn.GELU()

    def forward(self, s):
        return self.c(self.act(self.b(self.act(self.a(s)))))


def rmse(pred, true):
    return ((pred - true) ** 2).mean().sqrt()


m = NIR()
o = torch.optim.Adam(m.parameters(), 1e-3)
for epoch in range(1, 25):
    m.train()
    tot = 0.
    for i in torch.randperm(1200).split(60):
        o.zero_grad()
        e = rmse(m(X[i]), target[i])
        e.backward()
        o.step()
        tot += e.item() / 20
    m.eval()
    with torch.no_grad():
        v = rmse(m(X[1200:]), target[1200:]).item()
    if epoch % 2 == 0:
        print(f"{epoch:3d}   train rmse {tot:.4f}   val rmse {v:.4f}")
