import argparse
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn import Module, Parameter

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=42)
parser.add_argument("--epochs", type=int, default=400)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--weight_decay", type=float, default=5e-4)
parser.add_argument("--hidden", type=int, default=16)
parser.add_argument("--dropout", type=float, default=0.5)
args = parser.parse_args()
np.random.seed(args.seed)
torch.manual_seed(args.seed)


def load_graph(n=4000, k=6, n_words=120):
    """Papers in k fields: they cite mostly their own field, and use its words more often."""
    y = np.random.randint(0, k, n)
    same = y[:, None] == y[None]
    upper = np.triu(np.random.rand(n, n) < np.where(same, 0.006, 0.0006), 1)
    a = (upper | upper.T).astype(np.float32) + np.eye(n, dtype=np.float32)
    d = a.sum(1) ** -0.5
    adj = torch.from_numpy(d[:, None] * a * d[None]).to_sparse()
    topics = np.random.rand(k, n_words) < 0.2
    words = np.random.rand(n, n_words) < np.where(topics[y], 0.08, 0.03)
    x = torch.from_numpy(words.astype(np.float32))
    x = (x - x.mean(0)) / x.std(0)
    return adj, x, torch.from_numpy(y)


class GraphConvolution(Module):
    def __init__(self, i, o):
        super().__init__()
        self.weight = Parameter(torch.empty(i, o))
        self.bias = Parameter(torch.zeros(o))
        torch.nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return torch.spmm(adj, x @ self.weight) + self.bias


class GCN(Module):
    def __init__(self, nfeat, nhid, nclass):
        super().__init__()
        self.gc1, self.gc2 = GraphConvolution(nfeat, nhid), GraphConvolution(nhid, nclass)

    def forward(self, x, adj):
        h = F.relu(self.gc1(x, adj))
        h = F.dropout(h, args.dropout, training=self.training)
        return self.gc2(h, adj)


adj, features, labels = load_graph()
idx_train, idx_val, idx_test = torch.arange(2400), torch.arange(2400, 3200), torch.arange(3200, 4000)
model = GCN(features.shape[1], args.hidden, int(labels.max()) + 1)
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)

t0 = time.time()
for epoch in range(args.epochs):
    model.train()
    optimizer.zero_grad()
    out = model(features, adj)
    loss_train = F.cross_entropy(out[idx_train], labels[idx_train])
    loss_train.backward()
    optimizer.step()
    if (epoch + 1) % 20 == 0:
        model.eval()
        with torch.no_grad():
            out = model(features, adj)
            acc = lambda i: (out[i].argmax(1) == labels[i]).float().mean().item()
            print("Epoch: {:04d}".format(epoch + 1), "loss_train: {:.4f}".format(loss_train.item()), "acc_train: {:.4f}".format(acc(idx_train)),
                  "loss_val: {:.4f}".format(F.cross_entropy(out[idx_val], labels[idx_val]).item()), "acc_val: {:.4f}".format(acc(idx_val)))
print("Optimization finished in {:.1f}s, test accuracy {:.4f}".format(time.time() - t0, acc(idx_test)))
