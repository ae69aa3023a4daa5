import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import average_precision_score, balanced_accuracy_score, recall_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(23)
np.random.seed(23)

# transactions: amounts, counts and times (made up), about 5 % are fraudulent
X = np.random.randn(24000, 18)
X[:, 12:] = np.exp(0.5 * X[:, 12:])
score = -3.9 + X[:, :6] @ np.array([0.7, -0.6, 0.6, 0.5, -0.5, 0.4]) + 0.5 * np.maximum(X[:, 6], 0) * (X[:, 7] > 0)
y = (np.random.rand(24000) < 1 / (1 + np.exp(-score))).astype(int)
X_tr, X_va, y_tr, y_va = train_test_split(X, y, test_size=0.25, stratify=y, random_state=23)
scaler = StandardScaler().fit(X_tr)


def to_ds(X, y):
    return TensorDataset(torch.tensor(scaler.transform(X), dtype=torch.float32), torch.tensor(y, dtype=torch.float32))


train_ds, val_ds = to_ds(X_tr, y_tr), to_ds(X_va, y_va)
train_loader = DataLoader(train_ds, batch_size=128, shuffle=True)


class FraudNet(nn.Module):
    def __init__(self, n_in):
        super().__init__()
        self.fc1 = nn.Linear(n_in, 16)
        self.fc2 = nn.Linear(16, 8)
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        return self.out(torch.relu(self.fc2(torch.relu(self.fc1(x))))).squeeze(1)


net = FraudNet(X.shape[1])
criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor((y_tr == 0).sum() / (y_tr == 1).sum()))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=1e-2)

for epoch in range(8):
    net.train()
    losses = []
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(xb), yb)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        logits = net(val_ds.tensors[0])
        val_loss = criterion(logits, val_ds.tensors[1]).item()
    pred = (logits > 0).numpy()
    print(f"epoch {epoch + 1:2d} loss {np.mean(losses):.4f} val {val_loss:.4f} acc {(pred == y_va).mean():.4f} "
          f"recall {recall_score(y_va, pred):.3f} balanced acc {balanced_accuracy_score(y_va, pred):.3f} "
          f"AP {average_precision_score(y_va, logits.numpy()):.3f}")
