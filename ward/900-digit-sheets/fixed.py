"""Hand-written digits, small MLP."""
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits

np.random.seed(7)
torch.manual_seed(7)

X, y = load_digits(return_X_y=True)
X = (X / 16.0 - 0.3).astype(np.float32)
order = np.random.permutation(len(X))
X, y = X[order], y[order]

n_val = 400
x_train, y_train = torch.from_numpy(X[n_val:]), torch.from_numpy(y[n_val:])
x_val, y_val = torch.from_numpy(X[:n_val]), torch.from_numpy(y[:n_val])

model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
batch_size = 32

for epoch in range(8):
    model.train()
    perm = torch.randperm(len(x_train))
    running = 0.0
    for i in range(0, len(perm), batch_size):
        idx = perm[i:i + batch_size]
        optimizer.zero_grad()
        loss = criterion(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        running += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        out = model(x_val)
        val_loss = criterion(out, y_val).item()
        acc = (out.argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch + 1}: train {running / len(perm):.4f}  val {val_loss:.4f}  acc {acc:.3f}")
