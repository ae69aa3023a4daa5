import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(0)
X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
p = torch.randperm(len(y))
X, y = X[p], y[p]
Xt, yt, Xv, yv = X[:1300], y[:1300], X[1300:], y[1300:]
by_class = [torch.nonzero(yt == c).flatten() for c in range(10)]


class Embed(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Dropout(0.1), nn.Linear(96, 16))

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


def pick(labels):
    return torch.stack([by_class[c][torch.randint(len(by_class[c]), (1,))][0] for c in labels.tolist()])


embed = Embed()
triplet = nn.TripletMarginLoss(margin=0.4)
opt = torch.optim.Adam(embed.parameters(), lr=2e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=240)
history = []
for step in range(1, 241):
    a = torch.randint(0, len(yt), (48,))
    other = (yt[a] + torch.randint(1, 10, (48,))) % 10
    embed.train()
    loss = triplet(embed(Xt[a]), embed(Xt[pick(yt[a])]), embed(Xt[pick(other)]))
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    history.append(loss.item())
    if step % 24 == 0:
        embed.eval()
        with torch.no_grad():
            sim = embed(Xv) @ embed(Xt).T
        acc = (yt[sim.topk(5, dim=1).indices].mode(1).values == yv).float().mean().item()
        print(f"step {step} triplet loss {sum(history[-24:]) / 24:.4f} val 5-nn acc {acc:.3f}")
