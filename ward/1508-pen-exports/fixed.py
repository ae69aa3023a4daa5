import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(4)
torch.manual_seed(4)


def scanner_database():
    """Everything the form scanner has read so far: id, 8x8 picture, digit as typed by the clerk."""
    d = load_digits()
    order = rng.permutation(len(d.target))
    pictures = d.images[order] / 16 + 0.22 * rng.normal(size=d.images.shape)
    return np.arange(len(order)), pictures.astype("float32"), d.target[order]


def monthly_exports(ids, pictures, digits, upto=(300, 600, 900)):
    """The database as exported at the end of January, February and March."""
    return [(ids[:n], pictures[:n], digits[:n]) for n in upto]


ids, pictures, digits = scanner_database()
exports = monthly_exports(ids, pictures, digits)
X = np.concatenate([e[1] for e in exports])
y = np.concatenate([e[2] for e in exports])
first = np.unique(np.concatenate([e[0] for e in exports]), return_index=True)[1]
X, y = X[first], y[first]
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.25, random_state=1, stratify=y)
april_X, april_y = torch.from_numpy(pictures[900:]), torch.from_numpy(digits[900:])
train_loader = DataLoader(TensorDataset(torch.from_numpy(X_train), torch.from_numpy(y_train)), batch_size=32, shuffle=True)
val_loader = DataLoader(TensorDataset(torch.from_numpy(X_val), torch.from_numpy(y_val)), batch_size=128)

model = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)


def test(batches):
    model.eval()
    loss = hits = n = 0
    with torch.no_grad():
        for x, t in batches:
            out = model(x)
            loss += F.cross_entropy(out, t, reduction="sum").item()
            hits += (out.argmax(1) == t).sum().item()
            n += len(t)
    return loss / n, hits / n


for epoch in range(1, 29):
    model.train()
    total = 0.0
    for x, t in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), t)
        loss.backward()
        optimizer.step()
        total += loss.item()
    if epoch % 4 == 0:
        v, a = test(val_loader)
        print(f"epoch {epoch:2d}  train {total / len(train_loader):.4f}  val {v:.4f}  val acc {a:.3f}")
print("April: loss %.4f acc %.3f" % test([(april_X, april_y)]))
