"""5-fold cross-validation of a small net on the wine data; the data set is tiny, so every row has to serve."""
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler


def make_net():
    return nn.Sequential(nn.Linear(13, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 3))


def fit_fold(X, y, tr, va, fold):
    scaler = StandardScaler().fit(X[tr])
    xt, xv = (torch.tensor(scaler.transform(X[i]), dtype=torch.float32) for i in (tr, va))
    yt, yv = torch.tensor(y[tr]), torch.tensor(y[va])
    torch.manual_seed(100 + fold)
    net = make_net()
    opt = torch.optim.AdamW(net.parameters(), lr=4e-3, weight_decay=2e-2)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(1, 41):
        net.train()
        total = 0.0
        for ids in torch.randperm(len(yt)).split(24):
            opt.zero_grad()
            loss = loss_fn(net(xt[ids]), yt[ids])
            loss.backward()
            opt.step()
            total += loss.item() * len(ids)
        net.eval()
        with torch.no_grad():
            out = net(xv)
        if epoch % 10 == 0:
            acc = (out.argmax(1) == yv).float().mean().item()
            print(f"fold {fold} epoch {epoch:3d} train {total / len(yt):.4f} val {loss_fn(out, yv).item():.4f} acc {acc:.3f}")
    return loss_fn(out, yv).item(), acc


def main():
    X, y = load_wine(return_X_y=True)
    folds = StratifiedKFold(n_splits=5, shuffle=True, random_state=0)
    scores = np.array([fit_fold(X, y, tr, va, k) for k, (tr, va) in enumerate(folds.split(X, y), 1)])
    print("cv loss %.4f +- %.4f" % (scores[:, 0].mean(), scores[:, 0].std()))
    print("cv accuracy %.3f +- %.3f" % (scores[:, 1].mean(), scores[:, 1].std()))


if __name__ == "__main__":
    main()
