import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(30)
N, GROUPS = 400, 4


def village():
    """Who knows whom: neighbours of the same quarter more often; noisy features of each person."""
    group = torch.arange(N) % GROUPS
    same = group[:, None] == group[None]
    p = torch.where(same, torch.tensor(0.10), torch.tensor(0.01))
    upper = torch.triu(torch.rand(N, N) < p, diagonal=1)
    adj = (upper | upper.T).float() + torch.eye(N)
    feats = F.one_hot(group, GROUPS).float() * 1.5 + torch.randn(N, GROUPS)
    feats = torch.cat([feats, torch.randn(N, 8)], dim=1)
    return (feats - feats.mean(0)) / feats.std(0), adj, group


class GraphLayer(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.own = nn.Linear(n_in, n_out)
        self.neigh = nn.Linear(n_in, n_out, bias=False)

    def forward(self, h, adj):
        degree = adj.sum(dim=1, keepdim=True)
        return self.own(h) + self.neigh(adj @ h / degree)


class GraphNet(nn.Module):
    def __init__(self, n_in, width=32, depth=5):
        super().__init__()
        self.layers = nn.ModuleList(GraphLayer(n_in if i == 0 else width, width) for i in range(depth))
        self.out = nn.Linear(width, GROUPS)

    def forward(self, h, adj):
        for layer in self.layers:
            h = torch.relu(layer(h, adj))
        return self.out(h)


feats, adj, group = village()
order = torch.randperm(N)
train, val = order[:240], order[240:]
net = GraphNet(feats.shape[1])
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
for it in range(1, 121):
    net.train()
    pick = train[torch.randperm(len(train))[:120]]
    optimizer.zero_grad()
    loss = F.cross_entropy(net(feats, adj)[pick], group[pick])
    loss.backward()
    optimizer.step()
    if it % 12 == 0:
        net.eval()
        with torch.no_grad():
            out = net(feats, adj)[val]
        print(f"it {it:3d}  train {loss.item():.4f}  val {F.cross_entropy(out, group[val]).item():.4f}  acc {(out.argmax(1) == group[val]).float().mean():.3f}")
