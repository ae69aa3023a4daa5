import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

SEED = 1
torch.manual_seed(SEED)

X, y = load_breast_cancer(return_X_y=True)
X_tr, X_va, y_tr, y_va = train_test_split(X, y, test_size=0.35, stratify=y, random_state=SEED)
scaler = StandardScaler().fit(X_tr)
X_tr, X_va = (torch.tensor(scaler.transform(a), dtype=torch.float32) for a in (X_tr, X_va))
y_tr, y_va = (torch.tensor(a, dtype=torch.float32) for a in (y_tr, y_va))


class WideNet(nn.Module):
    """Few patients, so a wide net is kept in check by a lot of dropout."""

    def __init__(self, n_in, width=256, p=0.6):
        super().__init__()
        self.drop_in = nn.Dropout(0.2)
        self.fc1 = nn.Linear(n_in, width)
        self.drop = nn.Dropout(p)
        self.fc2 = nn.Linear(width, 1)

    def forward(self, x):
        h = torch.relu(self.fc1(self.drop_in(x)))
        return self.fc2(self.drop(h)).squeeze(1)


net = WideNet(X_tr.shape[1])
opt = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(1, 41):
    net.train()
    losses = []
    for idx in torch.randperm(len(y_tr)).split(37):
        opt.zero_grad()
        loss = criterion(net(X_tr[idx]), y_tr[idx])
        loss.backward()
        opt.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        tr, va = net(X_tr), net(X_va)
    if epoch % 5 == 0 or epoch == 1:
        print(f"epoch {epoch:2d} loss (with dropout) {np.mean(losses):.4f} | train {criterion(tr, y_tr).item():.4f} "
              f"val {criterion(va, y_va).item():.4f} acc {((va > 0) == y_va).float().mean():.3f} auc {roc_auc_score(y_va, va):.4f}")
