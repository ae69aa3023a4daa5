"""Node colours on random graphs: two hand-written graph convolutions."""
import torch
import torch.nn.functional as F

torch.manual_seed(16)
NODES, COLOURS, FEATURES = 30, 3, 8
palette = torch.randn(COLOURS, FEATURES)


def graph():
    colour = torch.randint(COLOURS, (NODES,))
    same = (colour[:, None] == colour[None, :]).float()
    link = (torch.rand(NODES, NODES) < 0.05 + 0.3 * same).float().triu(1)
    adj = link + link.T + torch.eye(NODES)
    feats = 0.6 * palette[colour] + torch.randn(NODES, FEATURES)
    return adj / adj.sum(1, keepdim=True), feats, colour


def glorot(a, b):
    return (torch.randn(a, b) * (2 / (a + b)) ** 0.5).requires_grad_()


params = [glorot(FEATURES, 24), torch.zeros(24, requires_grad=True), glorot(24, COLOURS), torch.zeros(COLOURS, requires_grad=True)]


def gcn(adj, h):
    w1, b1, w2, b2 = params
    h = torch.relu(adj @ h @ w1 + b1)
    return adj @ h @ w2 + b2


train_graphs = [graph() for _ in range(200)]
val_graphs = [graph() for _ in range(40)]
optimizer = torch.optim.SGD(params, lr=5e-5)
for epoch in range(3):
    order = torch.randperm(len(train_graphs)).tolist()
    total = 0.0
    for i in order:
        adj, feats, colour = train_graphs[i]
        loss = F.cross_entropy(gcn(adj, feats), colour)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        outs = [(gcn(a, f), c) for a, f, c in val_graphs]
    val = sum(F.cross_entropy(o, c).item() for o, c in outs) / len(outs)
    acc = sum((o.argmax(1) == c).float().mean().item() for o, c in outs) / len(outs)
    print(f"epoch {epoch} loss {total / len(order):.4f} val {val:.4f} acc {acc:.3f}")
