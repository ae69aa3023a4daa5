import numpy as np
import torch
from torch import nn
from sklearn.model_selection import StratifiedKFold

# Glaze defects from kiln profiles, 5-fold cross-validation because there are only 1200 firings

torch.manual_seed(31)
rng = np.random.default_rng(31)


def firings(n):
    x = rng.normal(size=(n, 16)).astype(np.float32)
    score = x[:, 0] * x[:, 1] + 0.8 * x[:, 2] - 0.7 * np.abs(x[:, 3]) + 0.55 + 0.5 * rng.normal(size=n)
    return torch.from_numpy(x), torch.from_numpy((score > 0).astype(np.int64))


def build():
    return nn.Sequential(nn.Linear(16, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 2))


def fit(net, opt, x, y, epochs=6, batch=64):
    net.train()
    for _ in range(epochs):
        total = 0.0
        for idx in torch.randperm(len(x)).split(batch):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
    return total / len(x)


@torch.no_grad()
def score(net, x, y):
    net.eval()
    out = net(x)
    return nn.functional.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


X, Y = firings(1200)
X_next, Y_next = firings(1000)   # the firings of the following month

accs = []
for fold, (tr, va) in enumerate(StratifiedKFold(5, shuffle=True, random_state=0).split(X, Y), 1):
    net = build()
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-2)
    train_loss = fit(net, opt, X[tr], Y[tr])
    val_loss, val_acc = score(net, X[va], Y[va])
    accs.append(val_acc)
    print(f"fold {fold}: train loss {train_loss:.4f}  val loss {val_loss:.4f}  val acc {val_acc:.3f}")

print(f"cross-validated accuracy {np.mean(accs):.3f} +- {np.std(accs):.3f}")
print("next month: loss %.4f acc %.3f" % score(net, X_next, Y_next))
