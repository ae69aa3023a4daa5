import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(4)
torch.manual_seed(4)


def patients(n):
    age = rng.uniform(20, 80, n)
    load = rng.normal(0, 1, (n, 6))
    rate = 0.6 * load[:, 0] - 0.4 * load[:, 1] * load[:, 2] - 0.01 * (age - 50) + rng.normal(0, 0.8, n)
    return np.column_stack([(age - 50) / 17, load]).astype("float32"), rate.astype("float32")[:, None]


X, y = patients(900)

# add slightly different targets for stability
X = np.concatenate([X, X])
y = np.concatenate([y, y + rng.normal(0, 0.02, y.shape).astype("float32")])

order = rng.permutation(len(X))
train_ids, val_ids = order[:1400], order[1400:]
train_loader = DataLoader(TensorDataset(torch.tensor(X[train_ids]), torch.tensor(y[train_ids])), batch_size=64, shuffle=True)
val_loader = DataLoader(TensorDataset(torch.tensor(X[val_ids]), torch.tensor(y[val_ids])), batch_size=200)

model = nn.Sequential(nn.Linear(7, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.MSELoss()

for epoch in range(25):
    model.train()
    total = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        val = sum(criterion(model(xb), yb).item() * len(xb) for xb, yb in val_loader) / len(val_ids)
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} train {total / len(train_ids):.4f} val {val:.4f}")

model.eval()
Xn, yn = patients(1000)
with torch.no_grad():
    print("new patients", criterion(model(torch.tensor(Xn)), torch.tensor(yn)).item())
