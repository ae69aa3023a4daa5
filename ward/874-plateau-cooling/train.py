"""Soft sorting of mixtures: temperature annealing, ReduceLROnPlateau and an infinite first best."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(27)
proto = torch.randn(6, 9) * 1.5


class SoftCodes(nn.Module):
    """vector quantisation with a temperature that is cooled down"""

    def __init__(self, codes=6, d=9):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 32), nn.Tanh(), nn.Linear(32, codes))
        self.codebook = nn.Parameter(0.5 * torch.randn(codes, d))
        self.tau = 2.0

    def forward(self, x):
        w = F.softmax(self.enc(x) / self.tau, dim=1)
        return w @ self.codebook


def draw(n):
    k = torch.randint(0, 6, (n,))
    return proto[k] + 0.3 * torch.randn(n, 9)


net = SoftCodes()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=3, threshold=1e-3)
print("best before training:", plateau.best)
for epoch in range(12):
    net.tau = max(0.2, 2.0 * 0.8 ** epoch)
    total = 0.0
    for _ in range(30):
        x = draw(48)
        loss = F.mse_loss(net(x), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / 30
    plateau.step(total)
    print(f"epoch {epoch:2d} tau {net.tau:.2f} loss {total:.4f} best {plateau.best:.4f} lr {opt.param_groups[0]['lr']:.4f}")
