"""Will a bee hive swarm? Rare event, so the rare rows are repeated."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(31)
torch.manual_seed(31)


def hives(n):
    x = rng.normal(size=(n, 16)).astype(np.float32)
    score = x[:, 0] + 0.8 * x[:, 1] - 0.6 * x[:, 2] * x[:, 3] + rng.normal(0, 0.9, n)
    return x, (score > 1.9).astype(np.float32)


def repeat_rare(x, y, times=7):
    rare = np.flatnonzero(y == 1)
    idx = np.concatenate([np.arange(len(y)), np.repeat(rare, times - 1)])
    return x[idx], y[idx]


x, y = hives(2400)
x, y = repeat_rare(x, y)
order = rng.permutation(len(x))
cut = int(0.75 * len(x))
x_tr, y_tr, x_va, y_va = x[order[:cut]], y[order[:cut]], x[order[cut:]], y[order[cut:]]
x_te, y_te = hives(1500)

train = DataLoader(TensorDataset(torch.from_numpy(x_tr), torch.from_numpy(y_tr)), batch_size=48, shuffle=True)
val = DataLoader(TensorDataset(torch.from_numpy(x_va), torch.from_numpy(y_va)), batch_size=256)
test = DataLoader(TensorDataset(torch.from_numpy(x_te), torch.from_numpy(y_te)), batch_size=256)

net = nn.Sequential(nn.Linear(16, 40), nn.ReLU(), nn.Linear(40, 1))
opt = torch.optim.Adam(net.parameters(), lr=3e-3, weight_decay=1e-3)
bce = nn.BCEWithLogitsLoss()


def score(loader):
    net.eval()
    with torch.no_grad():
        out = torch.cat([net(a).squeeze(1) for a, _ in loader])
        target = torch.cat([b for _, b in loader])
    hit = (out > 0).float() == target
    rare = hit[target == 1].float().mean().item()
    common = hit[target == 0].float().mean().item()
    return bce(out, target).item(), (rare + common) / 2


for epoch in range(5):
    net.train()
    total = 0.0
    for a, b in train:
        opt.zero_grad()
        loss = bce(net(a).squeeze(1), b)
        loss.backward()
        opt.step()
        total += loss.item()
    val_loss, bal = score(val)
    print(f"epoch {epoch}: train {total / len(train):.4f} val {val_loss:.4f} balanced acc {bal:.3f}")
print("new hives: loss %.4f balanced acc %.3f" % score(test))
