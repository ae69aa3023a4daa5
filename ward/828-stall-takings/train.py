"""Daily growth of market stalls' takings, from the last seven days."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Takings(Dataset):
    def __init__(self, stalls, days, seed):
        g = torch.Generator().manual_seed(seed)
        t = torch.arange(days)
        level = 200 * torch.exp(0.4 * torch.randn(stalls, 1, generator=g))
        week = 1 + 0.3 * torch.sin(2 * torch.pi * (t + torch.randint(0, 7, (stalls, 1), generator=g)) / 7)
        self.cash = level * week * torch.exp(0.08 * torch.randn(stalls, days, generator=g))
        shut = torch.rand(stalls, days, generator=g) < 0.0008
        self.cash[shut] = 0.0
        self.index = [(s, d) for s in range(stalls) for d in range(7, days - 1, 2)]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        s, d = self.index[i]
        past = self.cash[s, d - 7:d]
        x = past / past.mean() - 1
        y = torch.log(self.cash[s, d] / past[-1])
        return x, y.view(1)


torch.manual_seed(2)
loader = DataLoader(Takings(40, 120, 1), batch_size=32, shuffle=True)
test = DataLoader(Takings(10, 60, 3), batch_size=260)
net = nn.Sequential(nn.Linear(7, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 1))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
crit = nn.MSELoss()
for epoch in range(6):
    net.train()
    acc = 0.0
    for x, y in loader:
        loss = crit(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        acc += loss.item() / len(loader)
    net.eval()
    with torch.no_grad():
        val = sum(crit(net(x), y).item() for x, y in test) / len(test)
    print(f"epoch {epoch} mse {acc:.5f} test {val:.5f}")
