import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler
from torch import nn

SEED = 8
np.random.seed(SEED)
torch.manual_seed(SEED)

X, y = make_classification(n_samples=3200, n_features=40, n_informative=8, n_redundant=4, n_clusters_per_class=2,
                           class_sep=0.8, flip_y=0.12, random_state=SEED)
X_dev, y_dev = X[:2000], y[:2000]
X_hold, y_hold = X[2000:], y[2000:]


def make_folds(n, k):
    idx = np.random.permutation(n)
    return np.array_split(idx, k)


def make_model():
    return nn.Sequential(nn.Linear(40, 48), nn.ReLU(), nn.Dropout(0.3), nn.Linear(48, 48), nn.ReLU(), nn.Dropout(0.3),
                         nn.Linear(48, 2))


def train_model(model, X, y, X_val, y_val, epochs=12, batch_size=32):
    optimizer = torch.optim.Adam(model.parameters(), lr=1.5e-3, weight_decay=1e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        perm = torch.randperm(len(X))
        running = 0.0
        for i in range(0, len(X), batch_size):
            batch = perm[i:i + batch_size]
            optimizer.zero_grad()
            loss = criterion(model(X[batch]), y[batch])
            loss.backward()
            optimizer.step()
            running += loss.item() * len(batch)
        if epoch % 3 == 2:
            val_loss, val_acc = test(model, X_val, y_val)
            print("  epoch %2d train loss %.3f val loss %.3f val acc %.3f" % (epoch, running / len(X), val_loss, val_acc))
    return model


def test(model, X, y):
    model.eval()
    with torch.no_grad():
        out = model(X)
        return nn.functional.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def as_tensors(X, y):
    return torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.long)


K = 5
folds = make_folds(len(X_dev), K)
scores, hold_scores = [], []
for k in range(K):
    val_idx = folds[k]
    train_idx = np.concatenate(folds[:k] + folds[k + 1:])
    scaler = StandardScaler().fit(X_dev[train_idx])
    Xt, yt = as_tensors(scaler.transform(X_dev[train_idx]), y_dev[train_idx])
    Xv, yv = as_tensors(scaler.transform(X_dev[val_idx]), y_dev[val_idx])
    Xh, yh = as_tensors(scaler.transform(X_hold), y_hold)
    print(f"fold {k + 1}/{K}")
    model = train_model(make_model(), Xt, yt, Xv, yv)
    scores.append(test(model, Xv, yv)[1])
    hold_scores.append(test(model, Xh, yh)[1])

print("cross-validated accuracy %.3f +- %.3f" % (np.mean(scores), np.std(scores)))
print("accuracy on the holdout  %.3f" % np.mean(hold_scores))
