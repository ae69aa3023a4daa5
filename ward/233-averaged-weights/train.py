import torch
import torch.nn as nn
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits

torch.manual_seed(10)
d = load_digits()
X, y = torch.tensor(d.data, dtype=torch.float32) / 16, torch.tensor(d.target)
perm = torch.randperm(len(y))
X, y = X[perm], y[perm]
loader = DataLoader(TensorDataset(X[:1400], y[:1400]), batch_size=50, shuffle=True, drop_last=True)
Xv, yv = X[1400:], y[1400:]


def mlp():
    return nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 10))


def evaluate(m):
    m.eval()
    with torch.no_grad():
        o = m(Xv)
    return nn.functional.cross_entropy(o, yv).item(), (o.argmax(1) == yv).float().mean().item()


model = mlp()
swa_model = AveragedModel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
swa_start = 7
swa_scheduler = SWALR(optimizer, swa_lr=0.03, anneal_epochs=2)
for epoch in range(12):
    model.train()
    s = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
        s += loss.item() / len(loader)
    if epoch >= swa_start:
        swa_model.update_parameters(model)
        swa_scheduler.step()
    v, a = evaluate(model)
    print(f"epoch {epoch:2d} train {s:.4f} val {v:.4f} acc {a:.3f}")
update_bn(loader, swa_model)
v, a = evaluate(swa_model)
print(f"averaged: val {v:.4f} acc {a:.3f}")
