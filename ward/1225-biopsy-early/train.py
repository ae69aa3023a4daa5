"""Wisconsin biopsies: 569 rows are few, but enough for a small regularised net that stops by itself."""
import copy

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from torch import nn


class Stopper:
    def __init__(self, patience=3, min_delta=2e-3):
        self.patience, self.min_delta = patience, min_delta
        self.best, self.epoch, self.weights, self.bad = np.inf, 0, None, 0

    def update(self, loss, epoch, model):
        if loss < self.best - self.min_delta:
            self.best, self.epoch, self.bad = loss, epoch, 0
            self.weights = copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad >= self.patience


def loss_and_acc(model, x, y):
    model.eval()
    with torch.no_grad():
        z = model(x).squeeze(1)
    return nn.functional.binary_cross_entropy_with_logits(z, y).item(), ((z > 0).float() == y).float().mean().item()


torch.manual_seed(30)
x, y = load_breast_cancer(return_X_y=True)
x_tr, x_va, y_tr, y_va = train_test_split(x, y, test_size=0.35, stratify=y, random_state=3)
mu, sigma = x_tr.mean(0), x_tr.std(0)
x_tr, x_va = (torch.tensor((a - mu) / sigma, dtype=torch.float32) for a in (x_tr, x_va))
y_tr, y_va = (torch.tensor(a, dtype=torch.float32) for a in (y_tr, y_va))

model = nn.Sequential(nn.Linear(30, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.1)
stopper = Stopper()
for epoch in range(1, 41):
    model.train()
    total = 0.0
    for b in torch.randperm(len(x_tr)).split(24):
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(x_tr[b]).squeeze(1), y_tr[b])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(b)
    val, acc = loss_and_acc(model, x_va, y_va)
    print(f"epoch {epoch:2d} train {total / len(x_tr):.4f} val {val:.4f} acc {acc:.3f}")
    if stopper.update(val, epoch, model):
        print(f"stopped; best was epoch {stopper.epoch}")
        break
model.load_state_dict(stopper.weights)
print("kept weights: val loss %.4f acc %.3f" % loss_and_acc(model, x_va, y_va))
