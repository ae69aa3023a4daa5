"""Multi-task toxicity on small molecule-like graphs (dense adjacency, message passing by hand)."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

ATOMS, MAX_ATOMS, ASSAYS = 5, 12, ["nr-ar", "nr-er", "sr-are", "sr-p53"]


def molecule(rng):
    n = rng.integers(6, MAX_ATOMS + 1)
    kinds = rng.choice(ATOMS, n, p=[0.5, 0.18, 0.14, 0.1, 0.08])
    adj = np.zeros((MAX_ATOMS, MAX_ATOMS), "float32")
    for i in range(1, n):
        j = rng.integers(max(0, i - 3), i)
        adj[i, j] = adj[j, i] = 1
    if rng.random() < 0.5:
        adj[0, n - 1] = adj[n - 1, 0] = 1
    x = np.zeros((MAX_ATOMS, ATOMS), "float32")
    x[np.arange(n), kinds] = 1
    bonds = x.T @ adj @ x                        # which kinds touch which
    tox = np.array([bonds[1, 2] > 0, bonds[1, 1] > 0, bonds[0, 3] > 1, (kinds == 4).sum() > 1], dtype="float32")
    flip = rng.random(4) < 0.03
    tox = np.where(flip, 1 - tox, tox)
    tested = rng.random(4) < np.array([0.95, 0.85, 0.9, 0.95])
    return x, adj, np.where(tested, tox, np.nan).astype("float32")


def dataset(n, seed):
    rng = np.random.default_rng(seed)
    x, a, y = zip(*[molecule(rng) for _ in range(n)])
    return torch.tensor(np.stack(x)), torch.tensor(np.stack(a)), torch.tensor(np.stack(y))


class MPNN(nn.Module):
    def __init__(self, dim=48, rounds=3):
        super().__init__()
        self.emb = nn.Linear(ATOMS, dim)
        self.msg = nn.ModuleList([nn.Linear(dim, dim) for _ in range(rounds)])
        self.upd = nn.ModuleList([nn.Linear(2 * dim, dim) for _ in range(rounds)])
        self.readout = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, len(ASSAYS)))

    def forward(self, x, adj):
        there = x.sum(-1, keepdim=True)
        h = F.relu(self.emb(x)) * there
        for msg, upd in zip(self.msg, self.upd):
            m = adj @ F.relu(msg(h))
            h = h + F.relu(upd(torch.cat([h, m], -1))) * there
        return self.readout(h.sum(1) / 6)


def multitask_loss(logits, y):
    return F.binary_cross_entropy_with_logits(logits, y)


def assay_accuracy(logits, y):
    known = ~y.isnan()
    right = ((logits > 0).float() == y) & known
    return (right.sum(0) / known.sum(0)).tolist()


def train(epochs=12, batch=40):
    torch.manual_seed(50)
    x, a, y = dataset(2400, 1)
    xv, av, yv = dataset(600, 2)
    model = MPNN()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(epochs):
        model.train()
        hist = []
        for i in torch.randperm(len(x)).split(batch):
            loss = multitask_loss(model(x[i], a[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hist.append(loss.item())
        model.eval()
        with torch.no_grad():
            out = model(xv, av)
        accs = "  ".join(f"{n} {v:.3f}" for n, v in zip(ASSAYS, assay_accuracy(out, yv)))
        print(f"epoch {epoch:2d}  loss {np.mean(hist):.4f}  val {multitask_loss(out, yv).item():.4f}  {accs}")


train()
