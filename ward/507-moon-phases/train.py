import numpy as np
import torch

rng = np.random.default_rng(0)


def two_moons(n, noise=0.18):
    half = n // 2
    a, b = rng.uniform(0, np.pi, half), rng.uniform(0, np.pi, n - half)
    pts = np.concatenate([np.c_[np.cos(a), np.sin(a)], np.c_[1 - np.cos(b), 0.5 - np.sin(b)]])
    labels = np.r_[np.zeros(half), np.ones(n - half)]
    p = rng.permutation(n)
    pts = pts + rng.normal(0, noise, pts.shape)
    pts = (pts - pts.mean(0)) / pts.std(0)
    return torch.tensor(pts[p], dtype=torch.float32), torch.tensor(labels[p], dtype=torch.float32)


def make_params(sizes):
    params = []
    for n_in, n_out in zip(sizes[:-1], sizes[1:]):
        w = torch.zeros(n_in, n_out, requires_grad=True)
        b = torch.zeros(n_out, requires_grad=True)
        params.append((w, b))
    return params


def predict(params, x):
    *hidden, (w_out, b_out) = params
    for w, b in hidden:
        x = torch.tanh(x @ w + b)
    return (x @ w_out + b_out)[:, 0]


def bce(logit, target):
    return torch.nn.functional.binary_cross_entropy_with_logits(logit, target)


X, y = two_moons(1400)
Xt, yt, Xv, yv = X[:1000], y[:1000], X[1000:], y[1000:]
params = make_params([2, 24, 24, 1])
flat = [t for pair in params for t in pair]
velocity = [torch.zeros_like(t) for t in flat]
LR, MOMENTUM, BATCH = 0.04, 0.9, 50

for epoch in range(20):
    perm = torch.from_numpy(rng.permutation(len(Xt)))
    total = 0.0
    for k in range(0, len(Xt), BATCH):
        idx = perm[k:k + BATCH]
        loss = bce(predict(params, Xt[idx]), yt[idx])
        grads = torch.autograd.grad(loss, flat)
        with torch.no_grad():
            for t, v, g in zip(flat, velocity, grads):
                v.mul_(MOMENTUM).add_(g)
                t.sub_(LR * v)
        total += loss.item()
    if epoch % 2 == 1:
        with torch.no_grad():
            out = predict(params, Xv)
        print(f"epoch {epoch + 1:2d}  train {total * BATCH / len(Xt):.4f}  val {bce(out, yv):.4f}  acc {((out > 0) == (yv > 0.5)).float().mean():.3f}")
