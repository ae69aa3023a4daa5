"""Clean a noisy channel with a gated layer."""
import torch
import torch.nn as nn


class Gated(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.value = nn.Linear(16, d)
        self.gate = nn.Linear(16, d)
        self.out = nn.Linear(d, 16)

    def forward(self, x):
        g = torch.sigmoid(self.gate(x))
        v = torch.tanh(self.value(x))
        h = v * g
        g = g + 0.1
        return self.out(h / g.sum(1, keepdim=True) * 8)


torch.manual_seed(4)
basis = torch.randn(4, 16)
net = Gated()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(1, 301):
    clean = torch.randn(48, 4) @ basis / 2
    noisy = clean + 0.4 * torch.randn_like(clean)
    loss = nn.functional.mse_loss(net(noisy), clean)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0 or step == 1:
        print(f"step {step:3d} mse {loss.item():.4f}")
