"""Who will befriend whom? link prediction on a small social graph."""
import torch
import torch.nn.functional as F
from torch import nn, optim

torch.manual_seed(12)
N, GROUPS = 240, 6
group = torch.arange(N) % GROUPS
p = torch.where(group[:, None] == group[None, :], 0.45, 0.01)
upper = torch.triu(torch.rand(N, N) < p, diagonal=1)
edges = upper.nonzero()
edges = edges[torch.randperm(len(edges))]
n_val = len(edges) // 5
val_pos, train_pos = edges[:n_val], edges[n_val:]

# the message passing graph only holds training edges
A = torch.eye(N)
A[train_pos[:, 0], train_pos[:, 1]] = 1
A[train_pos[:, 1], train_pos[:, 0]] = 1
deg = A.sum(1)
A_hat = A / (deg.sqrt()[:, None] * deg.sqrt()[None, :])


def sample_non_edges(k):
    out = []
    while len(out) < k:
        a, b = torch.randint(0, N, (2,)).tolist()
        if a != b and not upper[min(a, b), max(a, b)]:
            out.append((a, b))
    return torch.tensor(out)


class LinkGCN(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.feat = nn.Parameter(torch.randn(N, dim))
        self.w1 = nn.Linear(dim, 32)
        self.w2 = nn.Linear(32, 16)
        self.bias = nn.Parameter(torch.zeros(1))

    def encode(self):
        h = F.relu(self.w1(A_hat @ self.feat))
        return self.w2(A_hat @ h)

    def forward(self, pairs):
        h = self.encode()
        score = (h[pairs[:, 0]] * h[pairs[:, 1]]).sum(-1) + self.bias
        return score.sigmoid()


model = LinkGCN()
opt = optim.Adam(model.parameters(), lr=5e-3, weight_decay=5e-4)
bce = nn.BCEWithLogitsLoss()

val_neg = sample_non_edges(len(val_pos))
val_pairs = torch.cat([val_pos, val_neg])
val_y = torch.cat([torch.ones(len(val_pos)), torch.zeros(len(val_neg))])
bank = sample_non_edges(6000)

for it in range(241):
    neg = bank[torch.randint(0, len(bank), (len(train_pos),))]
    pairs = torch.cat([train_pos, neg])
    y = torch.cat([torch.ones(len(train_pos)), torch.zeros(len(neg))])
    opt.zero_grad()
    loss = bce(model(pairs), y)
    loss.backward()
    opt.step()
    if it % 20 == 0:
        with torch.no_grad():
            s = model(val_pairs)
            v = bce(s, val_y).item()
            acc = ((s > 0.5).float() == val_y).float().mean().item()
        print(f"it {it:3d} | loss {loss.item():.4f} | val loss {v:.4f} | val acc {acc:.3f}")
