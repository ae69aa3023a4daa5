"""Heart-beat morphology (3 classes) from single beats; the best epoch on the validation beats is kept."""
import copy

import numpy as np
import torch
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CFG = {
    "beats": 1600,
    "val_size": 0.25,
    "batch_size": 40,
    "lr": 2e-3,
    "epochs": 8,
    "seed": 6,
}


def beats(n, rng):
    t = np.linspace(-1, 1, 50)
    kind = rng.integers(0, 3, n)
    x = np.empty((n, 50), dtype=np.float32)
    for i, k in enumerate(kind):
        width = [0.08, 0.12, 0.09][k] * rng.uniform(0.8, 1.25)
        qrs = np.exp(-(t / width) ** 2)
        t_wave = [0.35, 0.30, -0.05][k] * np.exp(-((t - 0.5) / 0.18) ** 2)
        x[i] = qrs + t_wave * rng.uniform(0.6, 1.4) + rng.normal(0, 0.26, 50)
    return (x - 0.15) / 0.35, kind


def loader(x, y, shuffle=False):
    return DataLoader(TensorDataset(torch.from_numpy(x), torch.from_numpy(y)), batch_size=CFG["batch_size"], shuffle=shuffle)


def accuracy(model, data):
    model.eval()
    with torch.no_grad():
        pairs = [(model(x).argmax(1), y) for x, y in data]
    return torch.cat([p == y for p, y in pairs]).float().mean().item()


def mean_loss(model, data, criterion):
    model.eval()
    with torch.no_grad():
        return float(np.mean([criterion(model(x), y).item() for x, y in data]))


rng = np.random.default_rng(CFG["seed"])
torch.manual_seed(CFG["seed"])
x, y = beats(CFG["beats"], rng)
x_train, x_val, y_train, y_val = train_test_split(x, y, test_size=CFG["val_size"], random_state=CFG["seed"], shuffle=True)
train_data, val_data = loader(x_train, y_train, shuffle=True), loader(x_val, y_val)
test_data = loader(*beats(1500, rng))

model = nn.Sequential(nn.Linear(50, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 3))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=CFG["lr"], weight_decay=1e-4)
best, best_acc = None, -1.0
for epoch in range(CFG["epochs"]):
    model.train()
    losses = []
    for xb, yb in train_data:
        loss = criterion(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    val_loss, val_acc = mean_loss(model, val_data, criterion), accuracy(model, val_data)
    if val_acc > best_acc:
        best, best_acc = copy.deepcopy(model.state_dict()), val_acc
    print(f"epoch {epoch + 1:2d} train {np.mean(losses):.3f} val {val_loss:.3f} val acc {val_acc:.3f}{' *' if val_acc == best_acc else ''}")

model.load_state_dict(best)
print(f"kept model: val acc {best_acc:.3f}, acc on the 1500 beats of the clinic {accuracy(model, test_data):.3f}")
