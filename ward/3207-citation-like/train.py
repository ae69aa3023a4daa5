import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

np.random.seed(0)
torch.manual_seed(0)


def planted_graph(n=1800, k=6, d=32, p_in=0.012, p_out=0.0015):
    """Communities with weakly informative bag-of-words features."""
    y = np.arange(n) % k
    prob = np.where(y[:, None] == y[None], p_in, p_out)
    up = np.triu(np.random.rand(n, n) < prob, 1)
    adj = (up | up.T).astype(np.float32) + np.eye(n, dtype=np.float32)
    deg = adj.sum(1)
    adj = adj / np.sqrt(deg[:, None] * deg[None])
    topic = np.random.randn(k, d) * 0.30
    x = topic[y] + np.random.randn(n, d)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(adj), torch.tensor(y)


class GraphConv(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_in, d_out))
        self.bias = nn.Parameter(torch.zeros(d_out))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        return adj @ (x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, d, hidden, k, dropout=0.5):
        super().__init__()
        self.gc1 = GraphConv(d, hidden)
        self.norm = nn.LayerNorm(hidden)
        self.gc2 = GraphConv(hidden, hidden)
        self.cls = nn.Linear(hidden, k)
        self.dropout = dropout

    def forward(self, x, adj):
        h = F.relu(self.norm(self.gc1(x, adj)))
        h = F.dropout(h, self.dropout, self.training)
        h = F.relu(self.gc2(h, adj))
        return self.cls(F.dropout(h, self.dropout, self.training))

    def configure_optimizers(self, lr, weight_decay):
        # weight decay for matrices only, none for biases and norms
        decay, no_decay = set(), set()
        for mn, m in self.named_modules():
            for pn, _ in m.named_parameters(recurse=False):
                name = f"{mn}.{pn}" if mn else pn
                if pn.endswith("weight") and isinstance(m, nn.Linear):
                    decay.add(name)
                elif isinstance(m, (nn.Linear, nn.LayerNorm)):
                    no_decay.add(name)
        params = dict(self.named_parameters())
        groups = [{"params": [params[n] for n in sorted(decay)], "weight_decay": weight_decay},
                  {"params": [params[n] for n in sorted(no_decay)], "weight_decay": 0.0}]
        return torch.optim.AdamW(groups, lr=lr)


x, adj, y = planted_graph()
perm = torch.randperm(len(y))
idx_train, idx_val, idx_test = perm[:1000], perm[1000:1400], perm[1400:]

model = GCN(x.shape[1], 16, int(y.max()) + 1)
optimizer = model.configure_optimizers(lr=0.01, weight_decay=5e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=160)

for epoch in range(160):
    model.train()
    optimizer.zero_grad()
    out = model(x, adj)
    loss = F.cross_entropy(out[idx_train], y[idx_train])
    loss.backward()
    optimizer.step()
    scheduler.step()
    if epoch % 10 == 9:
        model.eval()
        with torch.no_grad():
            out = model(x, adj)
        acc = {k: (out[i].argmax(1) == y[i]).float().mean().item() for k, i in (("train", idx_train), ("val", idx_val))}
        print("Epoch: {:04d} loss_train: {:.4f} acc_train: {:.4f} loss_val: {:.4f} acc_val: {:.4f}".format(
            epoch + 1, loss.item(), acc["train"], F.cross_entropy(out[idx_val], y[idx_val]).item(), acc["val"]))

print("test accuracy: {:.4f}".format((out[idx_test].argmax(1) == y[idx_test]).float().mean().item()))
