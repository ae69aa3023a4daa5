"""Metric learning: every class has a learned proxy, samples are pulled to their own proxy."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Embedder(nn.Module):
    def __init__(self, n_in, dim):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


class ProxyLoss(nn.Module):
    def __init__(self, n_classes, dim, scale=6.0):
        super().__init__()
        self.proxies = nn.Parameter(torch.randn(n_classes, dim) * 0.1)
        self.scale = scale

    def forward(self, z, y):
        sim = z @ self.proxies.t()
        return F.cross_entropy(self.scale * sim, y)


def identities(n, n_classes, n_in):
    centres = torch.randn(n_classes, n_in)
    y = torch.randint(0, n_classes, (n,))
    return centres[y] + 0.9 * torch.randn(n, n_in), y


def nearest_neighbour_recall(z_query, y_query, z_ref, y_ref):
    nearest = (z_query @ z_ref.t()).argmax(1)
    return (y_ref[nearest] == y_query).float().mean().item()


torch.manual_seed(31)
N_CLASSES, DIM = 20, 16
X, Y = identities(4600, N_CLASSES, 32)
x_train, y_train, x_test, y_test = X[:4000], Y[:4000], X[4000:], Y[4000:]

embedder = Embedder(32, DIM)
proxy_loss = ProxyLoss(N_CLASSES, DIM)
optimizer = torch.optim.SGD([{"params": embedder.parameters()}, {"params": proxy_loss.parameters()}],
                            lr=0.03, momentum=0.9)

step = 0
for epoch in range(8):
    embedder.train()
    for idx in torch.randperm(len(x_train)).split(80):
        loss = proxy_loss(embedder(x_train[idx]), y_train[idx])
        embedder.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step:4d} loss {loss.item():.4f}")
        step += 1
    embedder.eval()
    with torch.no_grad():
        z_test, z_ref = embedder(x_test), embedder(x_train[:1000])
        r1 = nearest_neighbour_recall(z_test, y_test, z_ref, y_train[:1000])
        test_loss = proxy_loss(z_test, y_test).item()
    print(f"epoch {epoch:2d} test loss {test_loss:.4f} recall@1 {r1:.3f}")
