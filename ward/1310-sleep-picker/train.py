"""Sleep stage (wake / light / deep / REM) from 20 band-power features. Keeps the epoch with the best dev accuracy."""
import copy

import numpy as np
import torch
import torch.nn.functional as F


def night(n, rng, proto):
    y = rng.integers(0, 4, n)
    x = proto[y] + rng.normal(0, 1.0, (n, 20))
    x[:, :4] += 0.4 * np.sin(3 * x[:, 4:8])
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


def init(sizes, g):
    params = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        w = torch.randn(a, b, generator=g) * (2.0 / a) ** 0.5
        params += [w.requires_grad_(), torch.zeros(b, requires_grad=True)]
    return params


def net(params, x, p_drop=0.0):
    *hidden, (w, b) = list(zip(params[::2], params[1::2]))
    for hw, hb in hidden:
        x = F.dropout(F.relu(x @ hw + hb), p_drop, training=p_drop > 0)
    return x @ w + b


def score(params, x, y):
    with torch.no_grad():
        out = net(params, x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    rng = np.random.default_rng(77)
    torch.manual_seed(77)
    proto = rng.normal(0, 0.42, (4, 20))
    X, Y = night(5000, rng, proto)
    X_test, Y_test = night(4000, rng, proto)

    n_dev = 20
    mean, std = X[n_dev:].mean(0), X[n_dev:].std(0)
    X, X_test = (X - mean) / std, (X_test - mean) / std
    X_dev, Y_dev, X_tr, Y_tr = X[:n_dev], Y[:n_dev], X[n_dev:], Y[n_dev:]

    params = init([20, 32, 32, 4], torch.Generator().manual_seed(1))
    opt = torch.optim.SGD(params, lr=0.004, momentum=0.9, weight_decay=1e-3)
    best_acc, best_epoch, best_params = 0.0, None, None
    for epoch in range(30):
        perm = torch.randperm(len(Y_tr))
        tot = 0.0
        for i in range(0, len(perm), 64):
            j = perm[i:i + 64]
            loss = F.cross_entropy(net(params, X_tr[j], 0.1), Y_tr[j])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(j)
        dl, da = score(params, X_dev, Y_dev)
        print(f"epoch {epoch} train {tot / len(perm):.4f} dev {dl:.4f} dev acc {da:.3f}")
        if da > best_acc:
            best_acc, best_epoch, best_params = da, epoch, copy.deepcopy([p.detach() for p in params])

    print(f"keeping epoch {best_epoch}: dev acc {best_acc:.3f}")
    print("test acc of the kept model %.3f" % score(best_params, X_test, Y_test)[1])
