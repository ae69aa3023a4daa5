# a two-layer net with nothing but autograd
import torch
from sklearn.datasets import load_digits

g = torch.Generator().manual_seed(0)
X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
perm = torch.randperm(len(y), generator=g)
tr, te = perm[:1300], perm[1300:]
X = X / 8 - 1

H, lr = 48, 0.1
w1 = (torch.randn(64, H, generator=g) * (2 / 64) ** 0.5).requires_grad_()
b1 = torch.zeros(H, requires_grad=True)
w2 = (torch.randn(H, 10, generator=g) * (1 / H) ** 0.5).requires_grad_()
b2 = torch.zeros(10, requires_grad=True)


def forward(x):
    return (x @ w1 + b1).clamp(min=0) @ w2 + b2


def nll(logits, t):
    return (torch.logsumexp(logits, 1) - logits.gather(1, t[:, None])[:, 0]).mean()


for it in range(500):
    b = tr[torch.randint(0, len(tr), (64,), generator=g)]
    loss = nll(forward(X[b]), y[b])
    loss.backward()
    with torch.no_grad():
        for w in (w1, b1, w2, b2):
            w -= lr * w.grad
            w.grad.zero_()
    if it % 50 == 49:
        with torch.no_grad():
            out = forward(X[te])
            print(f"it {it + 1:3d} train {loss.item():.4f} test {nll(out, y[te]).item():.4f} acc {(out.argmax(1) == y[te]).float().mean().item():.3f}")
