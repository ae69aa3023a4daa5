import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

SEED = 19
CLASSES = ["euthyroid", "hypothyroid", "hyperthyroid"]


def clinic(n, rng):
    """TSH, T3, T4, free T4, uptake, age, sex, pulse, weight change; 90 / 6 / 4 per cent."""
    y = rng.choice(3, n, p=[0.90, 0.06, 0.04])
    shift = np.array([[0, 0, 0, 0, 0, 0, 0, 0, 0], [2.0, -0.8, -1.4, -1.5, -0.3, 0.4, 0.2, -0.7, 0.7],
                      [-1.7, 1.5, 1.3, 1.7, 0.4, 0.1, 0.2, 1.0, -0.9]])
    x = rng.normal(size=(n, 9)) * 0.8 + shift[y] * rng.uniform(0.9, 1.3, (n, 1))
    x[:, 6] = rng.random(n) < 0.5
    return x.astype(np.float32), y


def oversample(x, y, rng):
    """Repeat rows of the rare classes until all classes are as frequent as the largest."""
    most = np.bincount(y).max()
    rows = [np.flatnonzero(y == k) for k in np.unique(y)]
    rows = [np.concatenate([r, rng.choice(r, most - len(r))]) for r in rows]
    idx = rng.permutation(np.concatenate(rows))
    return x[idx], y[idx]


class Diagnosis(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(9, 24), nn.Linear(24, 12), nn.Linear(12, 3)
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        return self.c(F.relu(self.b(self.drop(F.relu(self.a(x))))))


def minibatches(x, y, size):
    for idx in torch.randperm(len(y)).split(size):
        yield x[idx], y[idx]


if __name__ == "__main__":
    rng = np.random.default_rng(SEED)
    torch.manual_seed(SEED)
    x, y = clinic(9000, rng)
    x_tr, x_va, y_tr, y_va = train_test_split(x, y, test_size=0.25, stratify=y, random_state=SEED)
    mean, std = x_tr.mean(0), x_tr.std(0)
    print("before", np.bincount(y_tr), end=" ")
    x_tr, y_tr = oversample(x_tr, y_tr, rng)
    print("after", np.bincount(y_tr), "validation", np.bincount(y_va))
    x_tr, x_va = (torch.from_numpy((a - mean) / std) for a in (x_tr, x_va))
    y_tr, y_va = torch.from_numpy(y_tr), torch.from_numpy(y_va)

    model = Diagnosis()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=2e-2)
    for epoch in range(1, 13):
        model.train()
        total = 0.0
        for xb, yb in minibatches(x_tr, y_tr, 128):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(xb), yb)
            loss.backward()
            optimizer.step()
            total += loss.item() * len(yb)
        model.eval()
        with torch.no_grad():
            out = model(x_va)
        pred = out.argmax(1)
        recall = [(pred[y_va == k] == k).float().mean().item() for k in range(3)]
        print(f"epoch {epoch:2d} train {total / len(y_tr):.4f} val {F.cross_entropy(out, y_va).item():.4f} "
              f"macro f1 {f1_score(y_va, pred, average='macro'):.3f} " + " ".join(f"{c} {r:.3f}" for c, r in zip(CLASSES, recall)))
