# Metric learning on digits: shared encoder, triplet loss by hand, then a linear read-out on the frozen codes.
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

torch.manual_seed(8)
data = load_digits()
X = torch.tensor(data.data, dtype=torch.float32) / 16
X = (X - X[:1300].mean()) / X[:1300].std()
Y = torch.tensor(data.target)
Xtr, Ytr, Xte, Yte = X[:1300], Y[:1300], X[1300:], Y[1300:]
by_class = [torch.nonzero(Ytr == c).flatten() for c in range(10)]


class Encoder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.l1 = nn.Linear(64, 96)
        self.l2 = nn.Linear(96, dim)

    def forward(self, x):
        return self.l2(F.relu(self.l1(x)))


def sample_triplets(n):
    a, p, q = [], [], []
    for _ in range(n):
        c, d = torch.randperm(10)[:2].tolist()
        pool = by_class[c]
        a.append(pool[torch.randint(len(pool), (1,))])
        p.append(pool[torch.randint(len(pool), (1,))])
        q.append(by_class[d][torch.randint(len(by_class[d]), (1,))])
    return Xtr[torch.cat(a)], Xtr[torch.cat(p)], Xtr[torch.cat(q)]


def dist(u, v):
    return torch.sqrt(((u - v) ** 2).sum(1) + 1e-8)


enc = Encoder()
opt = torch.optim.Adam(enc.parameters(), lr=1e-3)
running = None
for step in range(1, 601):
    a, p, q = sample_triplets(48)
    za, zp, zq = enc(a), enc(p), enc(q)
    pull = dist(za, zp)
    push = dist(za, zq)
    triplet = F.relu(pull - push + 1.0).mean()
    size = 1e-3 * (za.pow(2).sum(1) + zp.pow(2).sum(1) + zq.pow(2).sum(1)).mean()
    loss = triplet + size
    opt.zero_grad()
    loss.backward()
    opt.step()
    running = loss.item() if running is None else 0.98 * running + 0.02 * loss.item()
    if step % 60 == 0:
        with torch.no_grad():
            ztr, zte = enc(Xtr), enc(Xte)
        if torch.isfinite(ztr).all():
            knn = KNeighborsClassifier(5).fit(ztr.numpy(), Ytr.numpy())
            print(f"step {step} loss {running:.4f} knn acc {knn.score(zte.numpy(), Yte.numpy()):.3f}")
        else:
            print(f"step {step} loss {running:.4f}")

# stage two: read-out
for w in enc.parameters():
    w.requires_grad = False
head = nn.Linear(16, 10)
opt2 = torch.optim.Adam(head.parameters(), lr=1e-2)
for epoch in range(30):
    for b in torch.randperm(len(Ytr)).split(64):
        loss = F.cross_entropy(head(enc(Xtr[b])), Ytr[b])
        opt2.zero_grad()
        loss.backward()
        opt2.step()
    if epoch % 6 == 5:
        with torch.no_grad():
            print(f"read-out {epoch + 1}: loss {loss.item():.3f} test acc {(head(enc(Xte)).argmax(1) == Yte).float().mean().item():.3f}")
