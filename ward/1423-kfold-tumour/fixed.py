"""5-fold cross-validation of a small net on the breast-cancer set; out-of-fold AUC at the end."""
import copy

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

SEED, EPOCHS, BS = 42, 25, 32
torch.manual_seed(SEED)
np.random.seed(SEED)

X, y = load_breast_cancer(return_X_y=True)
X, y = X.astype("float32"), y.astype("float32")

model = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))
start = copy.deepcopy(model.state_dict())
criterion = nn.BCEWithLogitsLoss()


def fit_epoch(xt, yt):
    model.train()
    s = 0.0
    for b in torch.randperm(len(yt)).split(BS):
        optimizer.zero_grad()
        loss = criterion(model(xt[b]).squeeze(1), yt[b])
        loss.backward()
        optimizer.step()
        s += loss.item() * len(b)
    return s / len(yt)


def predict(xv):
    model.eval()
    with torch.no_grad():
        return torch.sigmoid(model(xv).squeeze(1)).numpy()


oof = np.zeros(len(y))
folds = StratifiedKFold(5, shuffle=True, random_state=SEED)
for k, (tr, va) in enumerate(folds.split(X, y)):
    mean, std = X[tr].mean(0), X[tr].std(0)
    xt, xv = torch.tensor((X[tr] - mean) / std), torch.tensor((X[va] - mean) / std)
    yt = torch.tensor(y[tr])
    model.load_state_dict(start)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=1.0, end_factor=0.0, total_iters=EPOCHS)
    for epoch in range(EPOCHS):
        train_loss = fit_epoch(xt, yt)
        scheduler.step()
        if epoch % 8 == 0 or epoch == EPOCHS - 1:
            p = predict(xv)
            print(f"fold {k} epoch {epoch:2d} loss {train_loss:.4f} acc {((p > 0.5) == y[va]).mean():.4f}")
    oof[va] = predict(xv)

print("OOF acc %.4f  AUC %.4f" % (((oof > 0.5) == y).mean(), roc_auc_score(y, oof)))
