# Two-layer graph network (by hand) on a graph of towns and roads.
# Task: which of four broadband categories does a town fall into?
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

np.random.seed(21)
torch.manual_seed(21)

N = 1600


def build_towns(n):
    pos = np.random.rand(n, 2)
    population = np.exp(np.random.normal(9.2, 0.9, n))                # inhabitants
    income = np.random.normal(31000, 6500, n)                         # per head and year
    age = np.random.normal(43, 4, n)                                  # mean age
    elevation = np.abs(np.random.normal(250, 180, n))                 # metres
    ratio = np.clip(np.random.beta(4, 5, n), 0.02, 0.98)              # share of commuters
    # roads to the nearest neighbours
    d = ((pos[:, None] - pos[None]) ** 2).sum(-1)
    nearest = np.argsort(d, 1)[:, 1:6]
    adj = np.zeros((n, n), dtype="float32")
    adj[np.repeat(np.arange(n), 5), nearest.ravel()] = 1
    adj = np.maximum(adj, adj.T)

    urban = (np.log(population) - 9.2) / 0.9
    wealth = (income - 31000) / 6500
    young = -(age - 43) / 4
    around = adj @ urban / adj.sum(1)
    a = 1.2 * urban + 1.5 * around + 0.3 * np.random.randn(n)
    b = wealth + 0.8 * young + 1.2 * (ratio - 0.45) / 0.15 - 0.4 * (elevation - 250) / 180 + 0.3 * np.random.randn(n)
    label = 2 * (a > np.median(a)) + (b > np.median(b))
    feats = np.stack([population, income, age, elevation, ratio], 1)
    return feats, adj, label


feats, adj, label = build_towns(N)
idx = np.random.permutation(N)
train_idx, val_idx, test_idx = (torch.as_tensor(i) for i in (idx[:900], idx[900:1250], idx[1250:]))

x = torch.tensor(feats, dtype=torch.float32)
y = torch.tensor(label, dtype=torch.long)

a_hat = torch.tensor(adj)
a_hat = a_hat / a_hat.sum(1, keepdim=True)


class SageLayer(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.own = nn.Linear(d_in, d_out)
        self.nbr = nn.Linear(d_in, d_out, bias=False)

    def forward(self, h):
        return self.own(h) + self.nbr(a_hat @ h)


class TownNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = SageLayer(5, 16)
        self.l2 = SageLayer(16, 16)
        self.out = nn.Linear(16, 4)

    def forward(self, h):
        h = F.relu(self.l1(h))
        h = F.dropout(h, 0.2, self.training)
        h = F.relu(self.l2(h))
        return self.out(h)


net = TownNet()
opt = torch.optim.Adam(net.parameters(), lr=0.005, weight_decay=2e-3)


@torch.no_grad()
def score(ids):
    net.eval()
    logits = net(x)[ids]
    return F.cross_entropy(logits, y[ids]).item(), (logits.argmax(1) == y[ids]).float().mean().item()


for step in range(1, 201):
    net.train()
    opt.zero_grad()
    loss = F.cross_entropy(net(x)[train_idx], y[train_idx])
    loss.backward()
    opt.step()
    if step % 20 == 0:
        vl, va = score(val_idx)
        print(f"step {step:4d} | train loss {loss.item():.3f} | val loss {vl:.3f} | val acc {va:.3f}")
print("test accuracy %.3f" % score(test_idx)[1])
