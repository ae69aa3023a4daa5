"""Two-layer GCN on a random community graph, after Kipf & Welling."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

seed = 17
np.random.seed(seed)
torch.manual_seed(seed)

n_nodes, n_classes, n_feats = 2000, 6, 24
hidden, epochs = 16, 120
lr, weight_decay = 0.01, 2e-1


def community_graph():
    labels = np.random.randint(0, n_classes, n_nodes)
    same = labels[:, None] == labels[None, :]
    prob = np.where(same, 0.012, 0.0016)
    upper = np.triu(np.random.rand(n_nodes, n_nodes) < prob, 1)
    adj = (upper | upper.T).astype(np.float32)
    centres = np.random.randn(n_classes, n_feats) * 0.6
    feats = centres[labels] + np.random.randn(n_nodes, n_feats)
    return torch.tensor(adj), torch.tensor(feats, dtype=torch.float32), torch.tensor(labels)


def normalise(adj):
    adj = adj + torch.eye(len(adj))
    d = adj.sum(1).pow(-0.5)
    return d[:, None] * adj * d[None, :]


class GraphConv(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_in, n_out))
        self.bias = nn.Parameter(torch.zeros(n_out))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return adj @ (x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.gc1 = GraphConv(n_feats, hidden)
        self.gc2 = GraphConv(hidden, n_classes)

    def forward(self, x, adj):
        h = F.relu(self.gc1(x, adj))
        h = F.dropout(h, 0.5, self.training)
        return self.gc2(h, adj)


adj, x, y = community_graph()
adj = normalise(adj).to_sparse()
perm = torch.randperm(n_nodes)
idx_train, idx_val, idx_test = perm[:1000], perm[1000:1500], perm[1500:]

model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=weight_decay)


def accuracy(out, idx):
    return (out[idx].argmax(1) == y[idx]).float().mean().item()


for epoch in range(1, epochs + 1):
    model.train()
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x, adj)[idx_train], y[idx_train])
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0 or epoch == 1:
        model.eval()
        with torch.no_grad():
            out = model(x, adj)
        val_loss = F.cross_entropy(out[idx_val], y[idx_val]).item()
        print(f"Epoch {epoch:03d} loss {loss.item():.4f} val {val_loss:.4f} "
              f"acc train {accuracy(out, idx_train):.3f} val {accuracy(out, idx_val):.3f}")
print(f"test accuracy {accuracy(out, idx_test):.3f}")
