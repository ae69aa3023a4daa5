import copy
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits

torch.manual_seed(0)
X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
perm = torch.randperm(len(y))
X, y = X[perm] + 0.2 * torch.randn(len(y), 64), y[perm]
train_dl = DataLoader(TensorDataset(X[:1000], y[:1000]), batch_size=50, shuffle=True)
Xv, yv, Xt, yt = X[1000:1400], y[1000:1400], X[1400:], y[1400:]

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.4), nn.Linear(64, 10))
opt = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-3)
loss_fn = nn.CrossEntropyLoss()
best, best_state, bad, patience = float("inf"), None, 0, 2

for epoch in range(1, 101):
    model.train()
    s = 0.0
    for xb, yb in train_dl:
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
        s += loss.item()
    model.eval()
    with torch.no_grad():
        out = model(Xv)
        v = loss_fn(out, yv).item()
    print(f"epoch {epoch:2d} train {s / len(train_dl):.4f} val {v:.4f} acc {(out.argmax(1) == yv).float().mean().item():.3f}")
    if v < best:
        best, best_state, bad = v, copy.deepcopy(model.state_dict()), 0
    else:
        bad += 1
        if bad >= patience:
            print("stopping, best val", round(best, 4))
            break

model.load_state_dict(best_state)
model.eval()
with torch.no_grad():
    print("test acc", (model(Xt).argmax(1) == yt).float().mean().item())
