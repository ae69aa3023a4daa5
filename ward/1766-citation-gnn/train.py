import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def citation_graph(n, classes, words, seed):
    """Papers with bag-of-words features; papers of one field cite each other more often."""
    rng = np.random.default_rng(seed)
    field = rng.integers(0, classes, n)
    edges = set()
    for i in range(n):
        for _ in range(3):
            same = rng.random() < 0.8
            pool = np.flatnonzero(field == field[i]) if same else np.arange(n)
            j = int(rng.choice(pool))
            if i != j:
                edges.add((i, j))
                edges.add((j, i))
    topic = rng.random((classes, words)) < 0.12
    prob = np.where(topic[field], 0.22, 0.08)
    feats = (rng.random((n, words)) < prob).astype("float32")
    return torch.from_numpy(feats), torch.from_numpy(field), torch.tensor(sorted(edges)).T


class SageLayer(nn.Module):
    """Own features and the mean of the neighbours' features."""

    def __init__(self, d_in, d_out):
        super().__init__()
        self.own = nn.Linear(d_in, d_out)
        self.neigh = nn.Linear(d_in, d_out, bias=False)

    def forward(self, h, edge_index):
        messages = [[] for _ in range(len(h))]
        for src, dst in edge_index.T.tolist():
            messages[dst].append(h[src])
        mean = []
        for received in messages:
            if received:
                mean.append(sum(received) / len(received))
            else:
                mean.append(torch.zeros(h.shape[1]))
        return self.own(h) + self.neigh(torch.stack(mean))


class SageNet(nn.Module):
    def __init__(self, words, hidden, classes, dropout):
        super().__init__()
        self.first = SageLayer(words, hidden)
        self.second = SageLayer(hidden, classes)
        self.dropout = dropout

    def forward(self, x, edge_index):
        x = F.dropout(x, self.dropout, self.training)
        h = F.relu(self.first(x, edge_index))
        h = F.dropout(h, self.dropout, self.training)
        return self.second(h, edge_index)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--nodes", type=int, default=400)
    p.add_argument("--epochs", type=int, default=100)
    p.add_argument("--hidden", type=int, default=16)
    p.add_argument("--lr", type=float, default=0.01)
    p.add_argument("--seed", type=int, default=4)
    args = p.parse_args()

    torch.manual_seed(args.seed)
    x, y, edge_index = citation_graph(args.nodes, 5, 120, args.seed)
    print(f"{len(y)} papers, {edge_index.shape[1]} links")
    perm = torch.randperm(len(y))
    train, val = perm[:240], perm[240:]

    net = SageNet(x.shape[1], args.hidden, 5, dropout=0.5)
    opt = torch.optim.Adam(net.parameters(), lr=args.lr, weight_decay=5e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=args.epochs)
    for epoch in range(1, args.epochs + 1):
        net.train()
        out = net(x, edge_index)
        loss = F.cross_entropy(out[train], y[train])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if epoch % 10 == 0:
            net.eval()
            with torch.no_grad():
                out = net(x, edge_index)
            vloss = F.cross_entropy(out[val], y[val]).item()
            acc = (out[val].argmax(1) == y[val]).float().mean().item()
            print(f"epoch {epoch:3d} train {loss.item():.4f} val {vloss:.4f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
