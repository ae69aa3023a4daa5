import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

# ---- hyperparameters -------------------------------------------------
hidden = 48
batch = 8
n_epochs = 120
alpha = 0.05
beta = 0.9          # momentum
# ----------------------------------------------------------------------

torch.manual_seed(42)
D, T = load_digits(return_X_y=True)
Xa, Xb, ya, yb = train_test_split(D / 16.0, T, test_size=0.3, stratify=T, random_state=1)
Xa, Xb = torch.tensor(Xa).float() - 0.3, torch.tensor(Xb).float() - 0.3
ya, yb = torch.tensor(ya), torch.tensor(yb)

W1 = (torch.randn(64, hidden) * (2 / 64) ** 0.5).requires_grad_()
b1 = torch.zeros(hidden, requires_grad=True)
W2 = (torch.randn(hidden, 10) * (1 / hidden) ** 0.5).requires_grad_()
b2 = torch.zeros(10, requires_grad=True)
params = [W1, b1, W2, b2]
velocity = [torch.zeros_like(p) for p in params]


def predict(x):
    return torch.relu(x @ W1 + b1) @ W2 + b2


def nll(scores, y):
    return (torch.logsumexp(scores, 1) - scores[torch.arange(len(y)), y]).mean()


for ep in range(n_epochs):
    perm = torch.randperm(len(ya))
    cost = 0.0
    for k in range(0, len(perm), batch):
        i = perm[k:k + batch]
        J = nll(predict(Xa[i]), ya[i]) + 1e-3 * ((W1 ** 2).sum() + (W2 ** 2).sum()) / 2
        grads = torch.autograd.grad(J, params)
        with torch.no_grad():
            for p, v, g in zip(params, velocity, grads):
                v.mul_(beta).add_(g, alpha=1 - beta)
                p.sub_(alpha * v)
        cost += J.item() * len(i)
    if ep % 8 == 7 or ep == 0:
        with torch.no_grad():
            s = predict(Xb)
            print("epoch %3d   cost %.4f   test nll %.4f   test error %.2f%%" % (
                ep + 1, cost / len(ya), nll(s, yb).item(), 100 * (s.argmax(1) != yb).float().mean().item()))
