"""5-fold cross-validation of a small MLP on digits."""
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

X, y = load_digits(return_X_y=True)
data = TensorDataset(torch.tensor(X / 16.0 * 2 - 1, dtype=torch.float32), torch.tensor(y))


def build():
    return nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Dropout(0.25), nn.Linear(96, 10))


def accuracy(model, loader):
    model.eval()
    hits = loss = n = 0
    with torch.no_grad():
        for xb, yb in loader:
            out = model(xb)
            loss += nn.functional.cross_entropy(out, yb, reduction="sum").item()
            hits += (out.argmax(1) == yb).sum().item()
            n += len(yb)
    return loss / n, hits / n


scores = []
folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=1)
for fold, (tr, va) in enumerate(folds.split(X, y)):
    torch.manual_seed(100 + fold)
    model = build()
    train_loader = DataLoader(Subset(data, tr.tolist()), batch_size=32, shuffle=True)
    train_eval = DataLoader(Subset(data, tr.tolist()), batch_size=500)
    val_loader = DataLoader(Subset(data, va.tolist()), batch_size=500)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4)
    for epoch in range(14):
        model.train()
        for xb, yb in train_loader:
            opt.zero_grad()
            nn.functional.cross_entropy(model(xb), yb).backward()
            opt.step()
        tl, ta = accuracy(model, train_eval)
        vl, v = accuracy(model, val_loader)
        if epoch % 4 == 1:
            print(f"fold {fold} epoch {epoch:2d}  train {tl:.4f} ({ta:.3f})  val {vl:.4f} ({v:.3f})")
    scores.append(v)
print(f"cross-validated accuracy {np.mean(scores):.4f} +- {np.std(scores):.4f}")
