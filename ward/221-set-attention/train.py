import math
import torch
import torch.nn as nn

torch.manual_seed(4)


# each bag holds 10 items; the bag's label comes from the one item whose first feature is largest
def bags(n):
    x = torch.randn(n, 10, 6)
    top = x[:, :, 0].argmax(1)
    v = x[torch.arange(n), top]
    return x, (v[:, 1] + v[:, 2] > 0).long()


class AttentionPool(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(6, d), nn.ReLU())
        self.query = nn.Parameter(torch.randn(d) / math.sqrt(d))
        self.key, self.value = nn.Linear(d, d), nn.Linear(d, d)
        self.head = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 2))

    def forward(self, x):
        h = self.embed(x)
        att = torch.softmax(self.key(h) @ self.query, dim=1)
        pooled = (att.unsqueeze(-1) * self.value(h)).sum(1)
        return self.head(pooled), att


x, y = bags(4000)
xv, yv = bags(1000)
net = AttentionPool()
opt = torch.optim.AdamW(net.parameters(), lr=5e-3, weight_decay=1e-2)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=8)
ce = nn.CrossEntropyLoss()
for epoch in range(8):
    net.train()
    run = 0.0
    for i in torch.randperm(len(y)).split(100):
        out, _ = net(x[i])
        loss = ce(out, y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        run += loss.item() * len(i) / len(y)
    sched.step()
    net.eval()
    with torch.no_grad():
        out, att = net(xv)
        hit = (att.argmax(1) == xv[:, :, 0].argmax(1)).float().mean().item()
    print(f"epoch {epoch} train {run:.4f} val {ce(out, yv).item():.4f} acc {(out.argmax(1) == yv).float().mean().item():.3f} attends to the right item {hit:.2f}")
