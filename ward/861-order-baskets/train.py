"""Most expensive item in a basket of varying size: attention pooling with masked_fill."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader


def baskets(n, seed):
    g = torch.Generator().manual_seed(seed)
    out = []
    for _ in range(n):
        items = torch.randn(int(torch.randint(1, 9, (1,), generator=g)), 6, generator=g)
        price = items[:, 0] + 0.5 * items[:, 1]
        out.append((items, items[price.argmax(), 2]))
    return out


def collate(rows):
    m = max(len(r[0]) for r in rows)
    x, pad = torch.zeros(len(rows), m, 6), torch.ones(len(rows), m, dtype=torch.bool)
    for i, (items, _) in enumerate(rows):
        x[i, :len(items)], pad[i, :len(items)] = items, False
    return x, pad, torch.stack([r[1] for r in rows])


class Pool(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.key = nn.Sequential(nn.Linear(6, d), nn.GELU(), nn.Linear(d, 1))
        self.value = nn.Sequential(nn.Linear(6, d), nn.GELU(), nn.Linear(d, 1))

    def forward(self, x, pad):
        score = self.key(x).squeeze(-1).masked_fill(pad, float("-inf"))
        peak = score.amax(1, keepdim=True)
        w = torch.exp(score - peak)
        w = w / w.sum(1, keepdim=True)
        return (w * self.value(x).squeeze(-1)).sum(1)


torch.manual_seed(2)
train = DataLoader(baskets(1600, 1), batch_size=32, shuffle=True, collate_fn=collate)
test = DataLoader(baskets(300, 2), batch_size=300, collate_fn=collate)
net = Pool()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.75)
for epoch in range(7):
    net.train()
    tot = 0.0
    for x, pad, y in train:
        loss = nn.functional.mse_loss(net(x, pad), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() / len(train)
    sched.step()
    net.eval()
    with torch.no_grad():
        val = sum(nn.functional.mse_loss(net(x, p), y).item() for x, p, y in test)
    print(f"epoch {epoch} mse {tot:.4f} test {val:.4f}")
