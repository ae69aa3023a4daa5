"""Adapt a digit model to mirrored digits with low-rank adapters; B starts at zero so that training starts from the base model."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(0)


class LoRALinear(nn.Module):
    def __init__(self, base, rank=8, alpha=16):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad_(False)
        self.A = nn.Parameter(torch.randn(rank, base.in_features) / base.in_features ** 0.5)
        self.B = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * (x @ self.A.T @ self.B.T)


d = load_digits()
images = torch.tensor(d.images, dtype=torch.float32) / 8 - 1
y = torch.tensor(d.target)
perm = torch.randperm(len(y))
tr, va = perm[:1400], perm[1400:]


def fit(model, X, epochs, lr, tag):
    opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=lr)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for b in tr[torch.randperm(len(tr))].split(50):
            loss = F.cross_entropy(model(X[b]), y[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() / 28
        model.eval()
        with torch.no_grad():
            out = model(X[va])
        print(f"{tag} epoch {epoch}: train {total:.4f} val {F.cross_entropy(out, y[va]):.4f} acc {(out.argmax(1) == y[va]).float().mean():.3f}")


model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 10))
fit(model, images.flatten(1), epochs=5, lr=2e-3, tag="base")
for i in (0, 2, 4):
    model[i] = LoRALinear(model[i])
fit(model, images.flip(2).flatten(1), epochs=7, lr=4e-3, tag="mirror")
