import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(46)

# delivery times behave differently by region; most orders come from the centre, few from the islands
SHARE = torch.tensor([0.52, 0.26, 0.13, 0.06, 0.03])
CENTRE = torch.randn(5, 6) * 2.2
SLOPE = torch.randn(5, 6)


def orders(n):
    region = torch.multinomial(SHARE, n, replacement=True)
    local = torch.randn(n, 6) * 0.6
    x = CENTRE[region] + local
    y = (SLOPE[region] * local).sum(1, keepdim=True) + 0.5 * region[:, None].float() + 0.1 * torch.randn(n, 1)
    return x, y


class Expert(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))


class SparseMoE(nn.Module):
    def __init__(self, n_experts=6, k=2):
        super().__init__()
        self.k = k
        self.router = nn.Linear(6, n_experts)
        self.experts = nn.ModuleList(Expert() for _ in range(n_experts))

    def forward(self, x):
        logits = self.router(x)
        top, idx = logits.topk(self.k, dim=-1)
        w = F.softmax(top, dim=-1)
        y = x.new_zeros(len(x), 1)
        for e, expert in enumerate(self.experts):
            rows, slot = (idx == e).nonzero(as_tuple=True)
            if len(rows):
                y = y.index_add(0, rows, w[rows, slot].unsqueeze(1) * expert(x[rows]))
        load = F.softmax(logits, -1).mean(0)
        return y, (load * load).sum() * len(self.experts), idx


x, y = orders(4000)
xv, yv = orders(1000)
mu, sd = x.mean(0), x.std(0)
x, xv = (x - mu) / sd, (xv - mu) / sd
m, s = y.mean(), y.std()
y, yv = (y - m) / s, (yv - m) / s

moe = SparseMoE()
opt = torch.optim.Adam(moe.parameters(), lr=5e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 10)
for epoch in range(10):
    tot = 0.0
    for b in torch.randperm(4000).split(100):
        pred, balance, _ = moe(x[b])
        mse = F.mse_loss(pred, y[b])
        loss = mse + 0.003 * balance
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += mse.item() / 40
    sched.step()
    with torch.no_grad():
        pv, _, idx = moe(xv)
        use = torch.bincount(idx.flatten(), minlength=6).tolist()
    print(f"epoch {epoch} mse {tot:.4f} val {F.mse_loss(pv, yv).item():.4f} expert use {use}")
