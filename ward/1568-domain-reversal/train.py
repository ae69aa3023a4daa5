"""Domain-adversarial training: labelled lab recordings, unlabelled field recordings."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class ReverseGrad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.strength * grad, None


class DANN(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(8, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU())
        self.label = nn.Linear(hidden, 2)
        self.domain = nn.Sequential(nn.Linear(hidden, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x, strength=0.0):
        f = self.features(x)
        return self.label(f), self.domain(ReverseGrad.apply(f, strength)).squeeze(1)


def recordings(n, field):
    """Eight readings of a valve (good or leaking); in the field the last three, temperatures, are off by two degrees."""
    leak = torch.randint(0, 2, (n,))
    x = torch.randn(n, 8)
    x[:, 0] = 1.3 * (2 * leak - 1) * torch.sign(x[:, 1]) + 0.5 * x[:, 0]
    x[:, 2] += 0.7 * (2 * leak - 1)
    if field:
        x[:, 5:] += 2.0
    else:
        x[:, 5:] += 0.3 * (2 * leak - 1).unsqueeze(1)
    return x, leak


def main():
    torch.manual_seed(0)
    xs, ys = recordings(1500, field=False)
    xt, yt = recordings(1500, field=True)
    model = DANN()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    epochs = 30
    for epoch in range(1, epochs + 1):
        strength = 0.3 * (2 / (1 + math.exp(-10 * epoch / epochs)) - 1)
        model.train()
        sums = torch.zeros(2)
        for bs, bt in zip(torch.randperm(1500).split(50), torch.randperm(1500).split(50)):
            out_s, dom_s = model(xs[bs], strength)
            _, dom_t = model(xt[bt], strength)
            task = F.cross_entropy(out_s, ys[bs])
            domain = F.binary_cross_entropy_with_logits(torch.cat([dom_s, dom_t]), torch.cat([torch.ones(50), torch.zeros(50)]))
            opt.zero_grad()
            (task + domain).backward()
            opt.step()
            sums += torch.tensor([task.item(), domain.item()]) / 30
        model.eval()
        with torch.no_grad():
            acc_s = (model(xs)[0].argmax(1) == ys).float().mean()
            acc_t = (model(xt)[0].argmax(1) == yt).float().mean()
        if epoch % 3 == 0:
            print(f"epoch {epoch:2d} task {sums[0]:.4f} domain {sums[1]:.4f} acc lab {acc_s:.3f} field {acc_t:.3f}")


main()
