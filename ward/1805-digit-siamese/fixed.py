"""Siamese embedding of handwritten digits with the contrastive loss of Hadsell et al. (2006)."""
import torch
import torch.nn as nn
from sklearn.datasets import load_digits

MARGIN = 1.0
PAIRS = 400            # per step, half of them of the same class
STEPS = 700


def split(seed=0):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
    order = torch.randperm(len(y), generator=torch.Generator().manual_seed(seed))
    X, y = X[order], y[order]
    return (X[:1000], y[:1000]), (X[1000:], y[1000:])


class PairSampler:
    def __init__(self, X, y):
        order = y.argsort()
        self.X, self.y = X[order], y[order]
        self.count = torch.bincount(y, minlength=10)
        self.start = self.count.cumsum(0) - self.count

    def draw(self, n):
        same = torch.arange(n) % 2 == 0
        a = torch.randint(0, len(self.y), (n,))
        b = torch.randint(0, len(self.y), (n,))
        c = self.y[a]
        mate = self.start[c] + (torch.rand(n) * self.count[c]).long()
        b = torch.where(same, mate, b)
        return self.X[a], self.X[b], (self.y[a] == self.y[b]).float()


class Embedder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, dim))

    def forward(self, x):
        return self.net(x)


def distance(u, v):
    return torch.sqrt(((u - v) ** 2).sum(1) + 1e-8)


def contrastive(d, same):
    return (same * d ** 2 + (1 - same) * torch.relu(MARGIN - d) ** 2).mean()


@torch.no_grad()
def verify(model, sampler, n=2000):
    model.eval()
    a, b, same = sampler.draw(n)
    d = distance(model(a), model(b))
    guess = (d < MARGIN / 2).float()
    model.train()
    return contrastive(d, same).item(), (guess == same).float().mean().item()


def main():
    torch.manual_seed(26)
    train, test = split()
    train_pairs, test_pairs = PairSampler(*train), PairSampler(*test)
    model = Embedder()
    opt = torch.optim.Adam(model.parameters(), lr=3e-4, weight_decay=1e-4)
    window = []
    for step in range(1, STEPS + 1):
        a, b, same = train_pairs.draw(PAIRS)
        loss = contrastive(distance(model(a), model(b)), same)
        opt.zero_grad()
        loss.backward()
        window.append(loss.item())
        opt.step()
        if len(window) >= 70:
            vl, acc = verify(model, test_pairs)
            print(f"step {step:4d}  loss {sum(window) / len(window):.4f}  test loss {vl:.4f}  verification acc {acc:.3f}")
            window = []


if __name__ == "__main__":
    main()
