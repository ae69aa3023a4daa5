"""Two-layer GCN written by hand (no torch_geometric here), node classification on a planted-partition graph."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--nodes", type=int, default=900)
parser.add_argument("--groups", type=int, default=6)
parser.add_argument("--features", type=int, default=60)
parser.add_argument("--hidden", type=int, default=8)
parser.add_argument("--epochs", type=int, default=120)
parser.add_argument("--lr", type=float, default=0.01)
args = parser.parse_args()


def planted_graph(seed=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, args.groups, args.nodes)
    same = y[:, None] == y[None]
    adj = rng.random((args.nodes, args.nodes)) < np.where(same, 0.035, 0.003)
    adj = np.triu(adj, 1)
    adj = adj | adj.T | np.eye(args.nodes, dtype=bool)
    src, dst = np.nonzero(adj)
    x = rng.normal(size=(args.nodes, args.features))
    x[:, :args.groups] += 1.2 * np.eye(args.groups)[y]
    return torch.tensor(x).float(), torch.tensor(y), torch.tensor(src), torch.tensor(dst)


class GraphConv(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, x, src, dst, norm):
        msg = x[src] * norm[src].unsqueeze(1)
        agg = torch.zeros(len(norm), x.shape[1])
        agg = agg.index_add(0, dst, msg)
        return self.linear(agg * norm.unsqueeze(1))


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = GraphConv(args.features, args.hidden)
        self.conv2 = GraphConv(args.hidden, args.groups)

    def forward(self, x, src, dst, norm):
        h = F.relu(self.conv1(x, src, dst, norm))
        h = F.dropout(h, 0.2, self.training)
        return self.conv2(h, src, dst, norm)


torch.manual_seed(3)
x, y, src, dst = planted_graph()
norm = torch.bincount(dst, minlength=args.nodes).float().rsqrt()
perm = torch.randperm(args.nodes)
train, val = perm[:600], perm[600:]

model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=5e-3)
for epoch in range(args.epochs):
    model.train()
    optimizer.zero_grad()
    out = model(x, src, dst, norm)
    loss = F.cross_entropy(out[train], y[train])
    loss.backward()
    optimizer.step()
    if epoch % 12 == 0 or epoch == args.epochs - 1:
        model.eval()
        with torch.no_grad():
            pred = model(x, src, dst, norm)
            vloss = F.cross_entropy(pred[val], y[val]).item()
            acc = (pred[val].argmax(1) == y[val]).float().mean().item()
        print("Epoch: {:04d} loss_train: {:.4f} loss_val: {:.4f} acc_val: {:.4f}".format(epoch + 1, loss.item(), vloss, acc))
