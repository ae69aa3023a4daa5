"""Adapt a trained tagger to a second 'dialect' with low-rank adapters only."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
W = torch.randn(8, 4)
shift = torch.randn(8, 2) @ torch.randn(2, 4) / 2


def data(n, w):
    x = torch.randn(n, 8)
    return x, (x @ w).argmax(1)


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8):
        super().__init__()
        self.base = base
        for p in base.parameters():
            p.requires_grad_(False)
        self.A = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features ** 0.5)
        self.B = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * F.linear(F.linear(x, self.A), self.B)


def fit(model, xy, val, lr, epochs, tag):
    (x, y), (xv, yv) = xy, val
    opt = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for ep in range(epochs):
        model.train()
        s = 0.0
        for i in torch.randperm(len(y)).split(100):
            loss = F.cross_entropy(model(x[i]), y[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
            s += loss.item() * len(i) / len(y)
        sched.step()
        model.eval()
        with torch.no_grad():
            o = model(xv)
        print(f"{tag} {ep} train {s:.4f} val {F.cross_entropy(o, yv).item():.4f} acc {(o.argmax(1) == yv).float().mean().item():.3f}")


model = nn.Sequential(nn.Linear(8, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 4))
fit(model, data(4000, W), data(1500, W), 5e-3, 5, "base")
for k in (0, 2, 4):
    model[k] = LoRALinear(model[k])
n_train = sum(p.numel() for p in model.parameters() if p.requires_grad)
print(f"trainable {n_train} of {sum(p.numel() for p in model.parameters())}")
fit(model, data(4000, W + shift), data(1500, W + shift), 5e-3, 7, "adapter")
