"""Message passing by hand on random molecule-like graphs: predict whether a carbon-like atom touches an oxygen-like one."""
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(71)
N, TYPES = 10, 4


def molecule():
    n = rng.integers(6, N + 1)
    kind = rng.integers(0, TYPES, n)
    adj = np.zeros((N, N), "float32")
    for i in range(1, n):
        j = rng.integers(max(0, i - 3), i)
        adj[i, j] = adj[j, i] = 1
    for _ in range(2):
        i, j = rng.choice(n, 2, replace=False)
        adj[i, j] = adj[j, i] = 1
    feats = np.zeros((N, TYPES), "float32")
    feats[np.arange(n), kind] = 1
    pairs = sum(adj[i, j] for i in range(n) for j in range(n) if kind[i] == 0 and kind[j] == 1)
    label = int(pairs + rng.normal(0, 0.25) > 0.5)
    return feats, adj, label


def dataset(n):
    f, a, y = zip(*[molecule() for _ in range(n)])
    return torch.from_numpy(np.stack(f)), torch.from_numpy(np.stack(a)), torch.tensor(y)


class MPNN(nn.Module):
    def __init__(self, dim=32, rounds=2):
        super().__init__()
        self.inp = nn.Linear(TYPES, dim)
        self.msg = nn.ModuleList([nn.Linear(dim, dim) for _ in range(rounds)])
        self.upd = nn.ModuleList([nn.Linear(2 * dim, dim) for _ in range(rounds)])
        self.out = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, 2))

    def forward(self, f, adj):
        alive = (f.sum(-1, keepdim=True) > 0).float()
        h = torch.relu(self.inp(f)) * alive
        for msg, upd in zip(self.msg, self.upd):
            h = torch.relu(upd(torch.cat([h, adj @ msg(h)], -1))) * alive
        return self.out(h.sum(1))


torch.manual_seed(71)
train, test = dataset(2000), dataset(500)
model = MPNN()
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
xent = nn.CrossEntropyLoss()
for epoch in range(14):
    total = 0.0
    for idx in torch.randperm(len(train[2])).split(40):
        optimizer.zero_grad()
        loss = xent(model(train[0][idx], train[1][idx]), train[2][idx])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.005)
        optimizer.step()
        total += loss.item() / 50
    if epoch % 2 == 1:
        with torch.no_grad():
            out = model(test[0], test[1])
        print(f"{epoch:3d} loss {total:.4f} test {xent(out, test[2]).item():.4f} acc {(out.argmax(1) == test[2]).float().mean():.3f}")
