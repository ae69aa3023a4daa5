# Emulates a reactor simulation (5 settings -> 2 outputs) with a tanh network.
import torch
from torch import nn

torch.manual_seed(17)


def simulate(n):
    s = torch.rand(n, 5) * 2 - 1
    heat = torch.sin(1.5 * s[:, 0] + s[:, 1]) + s[:, 2] * s[:, 3] + 0.5 * s[:, 4]
    flow = torch.exp(-s[:, 1] ** 2) * s[:, 0] + 0.7 * s[:, 3] ** 2 - s[:, 4] * s[:, 2]
    y = torch.stack([heat, flow], dim=1)
    return s / 0.577, (y - y.mean(0)) / y.std(0)


class Tanh(nn.Module):
    """tanh with a learned slope"""

    def __init__(self, slope):
        super().__init__()
        self.slope = nn.Parameter(torch.tensor(float(slope)))

    def forward(self, z):
        return torch.tanh(self.slope * z)


class Emulator(nn.Module):
    def __init__(self, width=48, depth=4, slope=1.0):
        super().__init__()
        sizes = [5] + [width] * depth
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.acts = nn.ModuleList(Tanh(slope) for _ in range(depth))
        self.out = nn.Linear(width, 2)
        for lin in self.hidden:
            nn.init.xavier_normal_(lin.weight)
            nn.init.zeros_(lin.bias)

    def forward(self, s):
        for lin, act in zip(self.hidden, self.acts):
            s = act(lin(s))
        return self.out(s)


S, Y = simulate(2400)
S_tr, Y_tr, S_va, Y_va = S[:2000], Y[:2000], S[2000:], Y[2000:]
emulator = Emulator(slope=20.0)
optimiser = torch.optim.Adam(emulator.parameters(), lr=2e-3)
criterion = nn.MSELoss()
for epoch in range(1, 11):
    emulator.train()
    losses = []
    for rows in torch.randperm(2000).split(50):
        loss = criterion(emulator(S_tr[rows]), Y_tr[rows])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    emulator.eval()
    with torch.no_grad():
        val = criterion(emulator(S_va), Y_va).item()
    print(f"epoch {epoch:2d}  train {sum(losses) / len(losses):.4f}  val {val:.4f}")
