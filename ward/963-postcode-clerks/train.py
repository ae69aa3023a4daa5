import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
rng = np.random.default_rng(7)
digits = load_digits()
X, true = digits.data.astype("float32") / 16, digits.target
hasty = rng.random(len(true)) < 0.3
typed = np.where(hasty, rng.integers(0, 10, len(true)), true)

x_train, x_val, y_train, y_val = train_test_split(X, typed, test_size=0.2, random_state=1)
train_loader = DataLoader(TensorDataset(torch.from_numpy(x_train), torch.from_numpy(y_train)), batch_size=32, shuffle=True)
x_val, y_val = torch.from_numpy(x_val), torch.from_numpy(y_val)

model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(25):
    model.train()
    running = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        out = model(x_val)
        val_loss, acc = loss_fn(out, y_val).item(), (out.argmax(1) == y_val).float().mean().item()
    if epoch % 4 == 0:
        print(f"epoch {epoch} train {running / len(train_loader):.3f} val {val_loss:.3f} acc {acc:.3f}")
