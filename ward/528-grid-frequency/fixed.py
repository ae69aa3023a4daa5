import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(25)


class DilatedConv(nn.Module):
    def __init__(self, channels, dilation, kernel=3):
        super().__init__()
        self.left = (kernel - 1) * dilation
        self.conv = nn.Conv1d(channels, channels, kernel, dilation=dilation)
        self.mix = nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        h = F.pad(x, (self.left, 0))
        return x + self.mix(torch.relu(self.conv(h)))


class FrequencyModel(nn.Module):
    """One-step-ahead forecast at every time step."""

    def __init__(self, channels=16, dilations=(1, 2, 4)):
        super().__init__()
        self.inp = nn.Conv1d(1, channels, 1)
        self.blocks = nn.Sequential(*[DilatedConv(channels, d) for d in dilations])
        self.out = nn.Conv1d(channels, 1, 1)

    def forward(self, x):
        return self.out(self.blocks(self.inp(x[:, None])))[:, 0]


def grid_frequency(n, length):
    """AR(2) swings around 50 Hz in standard units; the innovations alone have variance about 0.12."""
    e = torch.randn(length + 50, n)
    rows = [torch.zeros(n), torch.zeros(n)]
    for t in range(length + 50):
        rows.append(1.5 * rows[-1] - 0.75 * rows[-2] + e[t])
    x = torch.stack(rows[52:], dim=1)
    return x / x.std()


@torch.no_grad()
def operate(model, x, start=30, steps=20):
    """Forecast step after step, seeing the past only."""
    errors = [(model(x[:, :t])[:, -1] - x[:, t]) ** 2 for t in range(start, start + steps)]
    return torch.stack(errors).mean().item()


train, held = grid_frequency(600, 64), grid_frequency(100, 64)
model = FrequencyModel()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    model.train()
    losses = []
    for idx in torch.randperm(len(train)).split(20):
        x = train[idx]
        loss = F.mse_loss(model(x[:, :-1]), x[:, 1:])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    model.eval()
    print(f"epoch {epoch}: train mse {sum(losses) / len(losses):.4f}, operating mse {operate(model, held):.4f}")
