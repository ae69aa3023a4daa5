# %% two-layer perceptron on digit pictures, everything by hand
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(29)
X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
perm = torch.randperm(len(y))
X, y = X[perm], y[perm]
Xtr, ytr, Xva, yva = X[:1400], y[:1400], X[1400:], y[1400:]

# %% parameters
def uniform(rows, cols):
    bound = (6 / rows) ** 0.5
    return ((torch.rand(rows, cols) - 1.0) * bound).requires_grad_()

params = {
    "w1": uniform(64, 80), "b1": torch.zeros(80, requires_grad=True),
    "w2": uniform(80, 40), "b2": torch.zeros(40, requires_grad=True),
    "w3": uniform(40, 10), "b3": torch.zeros(10, requires_grad=True),
}

def forward(x, p):
    h1 = F.relu(x @ p["w1"] + p["b1"])
    h2 = F.relu(h1 @ p["w2"] + p["b2"])
    return h2 @ p["w3"] + p["b3"]

# %% training
opt = torch.optim.SGD(params.values(), lr=0.05, momentum=0.9, weight_decay=1e-4)
for epoch in range(1, 13):
    total = 0.0
    for i in torch.randperm(len(ytr)).split(50):
        loss = F.cross_entropy(forward(Xtr[i], params), ytr[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(i)
    with torch.no_grad():
        out = forward(Xva, params)
    print(f"{epoch:2d} | {total / len(ytr):.4f} | val {F.cross_entropy(out, yva).item():.4f} | acc {(out.argmax(1) == yva).float().mean().item():.3f}")
