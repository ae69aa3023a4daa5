import copy

import numpy as np
import torch
from sklearn.datasets import make_classification
from torch import nn

SEED = 14
torch.manual_seed(SEED)
X, y = make_classification(n_samples=6400, n_features=20, n_informative=8, n_redundant=4, n_clusters_per_class=2,
                           class_sep=0.9, flip_y=0.0, random_state=SEED)
X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)
y = torch.tensor(y)

VAL = 16
X_test, y_test = X[:1644], y[:1644]
X_val, y_val = X[1644:1644 + VAL], y[1644:1644 + VAL]
X_train, y_train = X[2400:], y[2400:]

model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-3)


def score(X, y):
    model.eval()
    with torch.no_grad():
        out = model(X)
    return nn.functional.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


best, best_epoch, best_state = 0.0, -1, None
history = []
for epoch in range(45):
    model.train()
    running = []
    for idx in torch.randperm(len(y_train)).split(20):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(X_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        running.append(loss.item())
    val_loss, val_acc = score(X_val, y_val)
    history.append(val_acc)
    flag = ""
    if val_acc > best:
        best, best_epoch, best_state = val_acc, epoch, copy.deepcopy(model.state_dict())
        flag = "  <- saved"
    print(f"epoch {epoch:2d} loss {np.mean(running):.4f} val loss {val_loss:.4f} val acc {val_acc:.4f}{flag}")

model.load_state_dict(best_state)
print(f"best epoch {best_epoch}: val acc {best:.4f}, test acc {score(X_test, y_test)[1]:.4f}")
