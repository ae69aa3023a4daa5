import copy

import numpy as np
import torch
from torch import nn
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = 21
np.random.seed(SEED)
torch.manual_seed(SEED)

# 900 applications with 40 attributes
X, y = make_classification(n_samples=900, n_features=40, n_informative=6, n_redundant=4, n_clusters_per_class=1,
                           class_sep=0.7, flip_y=0.15, random_state=SEED)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.4, stratify=y, random_state=SEED)
scaler = StandardScaler().fit(X_train)
X_train = torch.tensor(scaler.transform(X_train), dtype=torch.float32)
X_val = torch.tensor(scaler.transform(X_val), dtype=torch.float32)
y_train, y_val = torch.tensor(y_train, dtype=torch.float32), torch.tensor(y_val, dtype=torch.float32)


class DefaultModel(nn.Module):
    def __init__(self, n_features, hidden=32, p=0.5):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_features, hidden), nn.ReLU(), nn.Dropout(p),
            nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(p),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


model = DefaultModel(X_train.shape[1])
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=3e-3)
criterion = nn.BCEWithLogitsLoss()

best_loss, best_state, patience = float("inf"), None, 0
for epoch in range(1, 121):
    model.train()
    epoch_loss = 0.0
    for idx in torch.randperm(len(X_train)).split(32):
        optimizer.zero_grad()
        loss = criterion(model(X_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        logits = model(X_val)
        val_loss = criterion(logits, y_val).item()
    print(f"epoch {epoch:3d}  train loss {epoch_loss / len(X_train):.4f}  val loss {val_loss:.4f}  "
          f"val auc {roc_auc_score(y_val.numpy(), logits.numpy()):.3f}")
    if val_loss < best_loss:
        best_loss, best_state, patience = val_loss, copy.deepcopy(model.state_dict()), 0
    else:
        patience += 1
        if patience == 6:
            break

model.load_state_dict(best_state)
with torch.no_grad():
    print(f"kept model: val loss {best_loss:.4f} val auc {roc_auc_score(y_val.numpy(), model(X_val).numpy()):.3f}")
