"""Apple grades from orchard measurements, with early stopping."""
import copy

import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)
X, y = make_classification(n_samples=1900, n_features=12, n_informative=8, n_redundant=0, n_classes=4, n_clusters_per_class=2, class_sep=1.3, random_state=8)
X, y = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32), torch.tensor(y)
X, X_test, y, y_test = train_test_split(X, y, test_size=600, random_state=1)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.008, random_state=3)

loader = DataLoader(TensorDataset(X_train, y_train), batch_size=32, shuffle=True)
net = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 4))
opt = torch.optim.Adam(net.parameters(), lr=1.5e-3)
ce = nn.CrossEntropyLoss()
best, best_state, waited, patience = 0.0, None, 0, 4

for epoch in range(14):
    net.train()
    tot = 0.0
    for xb, yb in loader:
        opt.zero_grad()
        loss = ce(net(xb), yb)
        loss.backward()
        opt.step()
        tot += loss.item()
    net.eval()
    with torch.no_grad():
        out = net(X_val)
        val_loss, acc = ce(out, y_val).item(), (out.argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch} train {tot / len(loader):.3f} val {val_loss:.3f} val acc {acc:.3f}")
    if acc > best:
        best, best_state, waited = acc, copy.deepcopy(net.state_dict()), 0
    else:
        waited += 1
        if waited >= patience:
            print("stopping early")
            break

net.load_state_dict(best_state)
net.eval()
with torch.no_grad():
    test = (net(X_test).argmax(1) == y_test).float().mean().item()
print(f"best val acc {best:.3f}, test acc {test:.3f}")
