# A soft decision tree (one sigmoid gate per inner node, a class distribution per leaf) on handwritten digits
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

DEPTH = 5
BETA = 100.0         # gate steepness
LEAVES = 2 ** DEPTH

torch.manual_seed(1)
rng = np.random.default_rng(1)

X, y = load_digits(return_X_y=True)
perm = rng.permutation(len(y))
X, y = X[perm], y[perm]
scaler = StandardScaler().fit(X[:1400])
X = torch.tensor(scaler.transform(X), dtype=torch.float32)
y = torch.tensor(y)

gates_w = (torch.randn(64, LEAVES - 1) / 8).requires_grad_()
gates_b = torch.zeros(LEAVES - 1, requires_grad=True)
leaves = (0.1 * torch.randn(LEAVES, 10)).requires_grad_()


def path_probabilities(x):
    right = torch.sigmoid(BETA * (x @ gates_w + gates_b))
    reach = torch.ones(len(x), 1)
    start = 0
    for level in range(DEPTH):
        g = right[:, start:start + 2 ** level]
        reach = torch.stack([reach * (1 - g), reach * g], dim=2).flatten(1)
        start += 2 ** level
    return reach


def log_likelihood(x, target):
    """log of the mixture over leaves, and the per-sample class probabilities"""
    p = path_probabilities(x) @ leaves.softmax(1)
    return torch.log(p.clamp_min(1e-6)).gather(1, target[:, None]).mean(), p


opt = torch.optim.Adam([gates_w, gates_b, leaves], lr=0.02)
for epoch in range(10):
    running = 0.0
    for idx in torch.randperm(1400).split(64):
        ll, _ = log_likelihood(X[idx], y[idx])
        opt.zero_grad()
        (-ll).backward()
        opt.step()
        running -= ll.item() * len(idx)
    with torch.no_grad():
        ll, p = log_likelihood(X[1400:], y[1400:])
        acc = (p.argmax(1) == y[1400:]).float().mean()
    print(f"epoch {epoch:2d}: train nll {running / 1400:.4f}  test nll {-ll:.4f}  test acc {acc:.3f}")
