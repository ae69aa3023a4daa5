"""Two sensors see the same event: learn a common embedding with a contrastive loss (the other pairs of the batch are the negatives)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(61)
W1, W2 = torch.randn(6, 24) / 6 ** 0.5, torch.randn(6, 18) / 6 ** 0.5


def events(n):
    z = torch.randn(n, 6)
    return torch.tanh(z @ W1) / 0.6 + 0.1 * torch.randn(n, 24), torch.sin(z @ W2) / 0.6 + 0.1 * torch.randn(n, 18)


def tower(n_in, dim=16):
    return nn.Sequential(nn.Linear(n_in, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, dim))


class PairModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = tower(24), tower(18)
        self.log_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, a, b):
        return F.normalize(self.left(a), dim=1), F.normalize(self.right(b), dim=1)

    def info_nce(self, a, b):
        za, zb = self(a, b)
        sim = self.log_scale.exp() * za @ zb.T
        target = torch.arange(len(sim))
        return (F.cross_entropy(sim, target) + F.cross_entropy(sim.T, target)) / 2


model = PairModel()
opt = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-4)
A, B = events(3000)
va, vb = events(256)
recent = []
for step in range(1, 301):
    model.train()
    i = torch.randperm(3000)[:64]
    loss = model.info_nce(A[i], B[i])
    opt.zero_grad()
    loss.backward()
    opt.step()
    recent.append(loss.item())
    if step % 30 == 0:
        model.eval()
        with torch.no_grad():
            val = sum(model.info_nce(x, y).item() for x, y in zip(va.split(64), vb.split(64))) / 4
            za, zb = model(va, vb)
        hit = ((za @ zb.T).argmax(1) == torch.arange(256)).float().mean().item()
        print(f"step {step:3d}  loss {sum(recent) / 30:.4f}  val {val:.4f}  right partner among 256: {hit:.3f}")
        recent = []
