"""Node classification on random supply networks: does a disruption reach this site within three links?"""
import torch
from torch import nn
from torch.nn import functional as F


def random_network(nodes, gen):
    pos = torch.rand(nodes, 2, generator=gen)
    near = torch.cdist(pos, pos) + 10 * torch.eye(nodes)
    adj = torch.zeros(nodes, nodes)
    nearest = near.topk(2, largest=False).indices
    adj.scatter_(1, nearest, 1.0)
    adj = ((adj + adj.T) > 0).float()
    blocked = (torch.rand(nodes, generator=gen) < 0.1).float()
    reach = blocked.clone()
    draw = torch.rand(nodes, nodes, generator=gen).triu(1)
    open_links = adj * ((draw + draw.T) < 0.9).float()
    for _ in range(3):
        reach = ((reach + open_links @ reach) > 0).float()
    features = torch.stack([blocked, adj.sum(1) / 3 - 1, torch.randn(nodes, generator=gen)], dim=1)
    return features, adj, reach


def collection(n, nodes, seed):
    gen = torch.Generator().manual_seed(seed)
    parts = [random_network(nodes, gen) for _ in range(n)]
    return tuple(torch.stack(p) for p in zip(*parts))


class GraphLayer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.own = nn.Linear(width, width)
        self.others = nn.Linear(width, width, bias=False)
        self.norm = nn.LayerNorm(width)

    def forward(self, h, adj):
        return h + F.relu(self.norm(self.own(h) + self.others(adj @ h)))


class GraphNet(nn.Module):
    def __init__(self, n_features=3, width=48, depth=4):
        super().__init__()
        self.encode = nn.Linear(n_features, width)
        self.layers = nn.ModuleList([GraphLayer(width) for _ in range(depth)])
        self.decode = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x, adj):
        h = self.encode(x)
        for layer in self.layers:
            out = layer(h, adj)
        return self.decode(out).squeeze(-1)


def epoch_pass(model, data, batch, optimizer=None):
    x, adj, y = data
    order = torch.randperm(len(x)) if optimizer else torch.arange(len(x))
    loss_sum = hits = 0.0
    for idx in order.split(batch):
        logits = model(x[idx], adj[idx])
        loss = F.binary_cross_entropy_with_logits(logits, y[idx])
        if optimizer:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        loss_sum += loss.item() * len(idx)
        hits += ((logits > 0).float() == y[idx]).float().mean().item() * len(idx)
    return loss_sum / len(x), hits / len(x)


def main(epochs=14):
    torch.manual_seed(31)
    train, val = collection(600, 40, seed=1), collection(200, 40, seed=2)
    print("share of reached sites %.3f" % train[2].mean().item())
    model = GraphNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    for epoch in range(epochs):
        model.train()
        tl, ta = epoch_pass(model, train, 16, optimizer)
        scheduler.step()
        model.eval()
        with torch.no_grad():
            vl, va = epoch_pass(model, val, 50)
        print(f"{epoch + 1:>3} train {tl:.4f} / {ta:.3f}   val {vl:.4f} / {va:.3f}")


main()
