# electronic nose, 6 spices, trained with mixup
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(23)
K, SENSORS = 6, 20
profile = torch.randn(K, SENSORS)


def sniff(n):
    k = torch.randint(0, K, (n,))
    conc = 0.5 + torch.rand(n, 1)
    return conc * profile[k] + 0.9 * torch.randn(n, SENSORS), k


def mixup(x, y, alpha=0.4):
    lam = torch.distributions.Beta(alpha, alpha).sample((len(x), 1))
    lam = torch.maximum(lam, 1 - lam)
    j = torch.randperm(len(x))
    t = F.one_hot(y, K).float()
    return lam * x + (1 - lam) * x[j], lam * t + (1 - lam) * t[j]


x, y = sniff(2400)
xv, yv = sniff(600)
net = nn.Sequential(nn.Linear(SENSORS, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, K))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, total_steps=12 * 40)
for epoch in range(12):
    net.train()
    run = 0.
    for b in torch.randperm(2400).split(60):
        xm, tm = mixup(x[b], y[b])
        loss = F.cross_entropy(net(xm), tm)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        run += loss.item() / 40
    net.eval()
    with torch.no_grad():
        o = net(xv)
    print(f"epoch {epoch + 1:2d} | mixup loss {run:.4f} | val loss {F.cross_entropy(o, yv).item():.4f} | val acc {(o.argmax(1) == yv).float().mean().item():.3f}")
