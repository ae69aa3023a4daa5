"""Ratings = taste x item + side features. Embeddings and tower have optimizers of their own; three seeds averaged."""
import numpy as np
import torch
import torch.nn as nn

N_USER, N_ITEM, K = 300, 200, 6


def ratings(seed=0, n=14000):
    rng = np.random.default_rng(seed)
    pu, qi = rng.normal(size=(N_USER, K)) * 0.5, rng.normal(size=(N_ITEM, K)) * 0.5
    bu, bi = rng.normal(size=N_USER) * 0.5, rng.normal(size=N_ITEM) * 0.6
    u, i = rng.integers(0, N_USER, n), rng.integers(0, N_ITEM, n)
    side = rng.normal(size=(n, 4))
    r = bu[u] + bi[i] + (pu[u] * qi[i]).sum(1) + 0.5 * side[:, 0] + 0.4 * np.tanh(2 * side[:, 1]) * side[:, 2]
    r = r + 0.3 * rng.normal(size=n)
    return (torch.tensor(u), torch.tensor(i), torch.tensor(side, dtype=torch.float32),
            torch.tensor((r - r.mean()) / r.std(), dtype=torch.float32))


class Factors(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.u, self.i = nn.Embedding(N_USER, dim, sparse=True), nn.Embedding(N_ITEM, dim, sparse=True)
        nn.init.normal_(self.u.weight, std=0.1)
        nn.init.normal_(self.i.weight, std=0.1)

    def forward(self, u, i):
        return self.u(u), self.i(i)


class Tower(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * dim + 4, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, eu, ei, side):
        return self.net(torch.cat([eu, ei, side], 1)).squeeze(1)


def run(seed, data, split):
    torch.manual_seed(seed)
    u, i, s, r = data
    tr, va = split
    fac, tower = Factors(), Tower()
    opt_emb = torch.optim.SparseAdam(list(fac.parameters()), lr=4e-3)
    opt_net = torch.optim.SGD(tower.parameters(), lr=0.5, momentum=0.9)
    for epoch in range(1, 9):
        mse = 0.0
        for b in tr[torch.randperm(len(tr))].split(128):
            eu, ei = fac(u[b], i[b])
            pred = tower(eu, ei, s[b])
            err = (pred - r[b]).pow(2).mean()
            decay = 2e-3 * (eu.pow(2).sum(1) + ei.pow(2).sum(1)).mean()
            loss = err + decay
            opt_emb.zero_grad()
            opt_net.zero_grad()
            loss.backward()
            opt_emb.step()
            opt_net.step()
            mse += err.item() * len(b)
        with torch.no_grad():
            pv = tower(*fac(u[va], i[va]), s[va])
            rmse = (pv - r[va]).pow(2).mean().sqrt().item()
        if epoch % 2 == 0:
            print(f"seed {seed} epoch {epoch} train mse {mse / len(tr):.4f} val rmse {rmse:.4f}")
    return rmse


data = ratings()
perm = torch.randperm(len(data[3]), generator=torch.Generator().manual_seed(99))
split = perm[:11500], perm[11500:]
scores = [run(seed, data, split) for seed in (0, 1, 2)]
print(f"val rmse {np.mean(scores):.4f} +- {np.std(scores):.4f}")
