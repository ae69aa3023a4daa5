import torch
from torch import nn

torch.manual_seed(120)

# waiting time at a counter: 10 %, 50 % and 90 % quantiles given the hour and the number of open desks
TAUS = torch.tensor([0.1, 0.5, 0.9])


def visits(n):
    hour = 8 + 10 * torch.rand(n)
    desks = torch.randint(1, 6, (n,)).float()
    busy = torch.exp(-((hour - 12) / 1.8) ** 2)
    scale = (0.5 + 3 * busy) / desks
    wait = scale * (1 + torch.distributions.Exponential(1.0).sample((n,)))
    x = torch.stack([(hour - 13) / 2.9, (desks - 3) / 1.4], 1)
    return x, wait.unsqueeze(1)


def pinball(q, y):
    e = y - q
    return torch.max(TAUS * e, (TAUS - 1) * e).mean()


x_train, y_train = visits(4000)
x_val, y_val = visits(1500)
net = nn.Sequential(nn.Linear(2, 32), nn.Softplus(), nn.Linear(32, 32), nn.Softplus(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=14 * 50)

for epoch in range(14):
    tot = clipped = 0
    for ids in torch.randperm(len(x_train)).split(80):
        loss = pinball(net(x_train[ids]), y_train[ids])
        opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(net.parameters(), 0.25)
        clipped += int(norm > 0.25)
        opt.step()
        sched.step()
        tot += loss.item() / 50
    with torch.no_grad():
        qv = net(x_val)
        val = pinball(qv, y_val).item()
        cover = (y_val < qv).float().mean(0).tolist()
    print(f"epoch {epoch:2d} loss {tot:.4f} val {val:.4f} clipped {clipped}/50 coverage " + " ".join(f"{c:.2f}" for c in cover))
