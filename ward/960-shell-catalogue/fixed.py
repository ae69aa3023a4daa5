import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
rng = np.random.default_rng(12)
SPECIES = 4


def catalogue(n):
    species = rng.integers(0, SPECIES, n)
    size = rng.normal(30 + 4 * species, 5)
    ribs = rng.normal(20 - 3 * species, 3)
    spire = rng.normal(1.5 + 0.4 * (species % 2), 0.3)
    weight = 0.02 * size**2 + rng.normal(0, 2, n)
    return np.column_stack([size, ribs, spire, weight, rng.normal(0, 1, n)]).astype("float32"), species


table, species = catalogue(2000)
by_length = np.argsort(table[:, 0])  # as in the printed catalogue
table, species = table[by_length], species[by_length]
table = (table - table.mean(0)) / table.std(0)

order = rng.permutation(len(table))
train_ids, val_ids = order[:1600], order[1600:]
train = TensorDataset(torch.tensor(table[train_ids]), torch.tensor(species[train_ids]))
val = TensorDataset(torch.tensor(table[val_ids]), torch.tensor(species[val_ids]))

net = nn.Sequential(nn.Linear(5, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, SPECIES))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(25):
    net.train()
    for xb, yb in DataLoader(train, batch_size=64, shuffle=True):
        loss = nn.functional.cross_entropy(net(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        xv, yv = val[:]
        out = net(xv)
        val_loss = nn.functional.cross_entropy(out, yv).item()
        acc = (out.argmax(1) == yv).float().mean().item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} loss {loss.item():.3f} val {val_loss:.3f} acc {acc:.3f}")
