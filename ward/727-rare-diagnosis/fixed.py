import torch
import torch.nn.functional as F
from sklearn.datasets import load_breast_cancer
from torch import nn


class Screening(nn.Module):
    def __init__(self, features, hidden=16):
        super().__init__()
        self.hidden = nn.Linear(features, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(torch.tanh(self.hidden(x))).squeeze(1)


class Study:
    def __init__(self, seed=2):
        torch.manual_seed(seed)
        d = load_breast_cancer()
        x = torch.tensor(d.data, dtype=torch.float32)[:, :5]
        x = (x - x.mean(0)) / x.std(0)
        y = 1 - torch.tensor(d.target, dtype=torch.float32)
        x = x + 2.8 * torch.randn_like(x)
        ill, well = (y == 1).nonzero().flatten(), (y == 0).nonzero().flatten()
        keep = torch.cat([well, ill[:24]])
        keep = keep[torch.randperm(len(keep))]
        self.x, self.y = x[keep], y[keep]
        self.split = int(0.7 * len(keep))

    def parts(self):
        return (self.x[: self.split], self.y[: self.split]), (self.x[self.split :], self.y[self.split :])


def fit(study, epochs=30):
    (x, y), (vx, vy) = study.parts()
    net = Screening(x.shape[1])
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for epoch in range(epochs):
        for rows in torch.randperm(len(x)).split(32):
            loss = F.binary_cross_entropy_with_logits(net(x[rows]), y[rows], pos_weight=torch.tensor(15.0))
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            logits = net(vx)
            val = F.binary_cross_entropy_with_logits(logits, vy)
        if epoch % 5 == 4:
            recall = (logits[vy == 1] > 0).float().mean().item()
            print(f"epoch {epoch + 1}: val {val.item():.4f} accuracy {((logits > 0) == (vy > 0.5)).float().mean().item():.3f} recall {recall:.3f}")


fit(Study())
