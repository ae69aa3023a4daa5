"""Water level of a canal one step ahead; the hidden state is carried along the record."""
import math

import torch
from torch import nn

LANES, PIECE = 16, 20


def record(n, g):
    t = torch.arange(n, dtype=torch.float32)
    level = torch.sin(2 * math.pi * t / 25) + 0.6 * torch.sin(2 * math.pi * t / 61 + 1) + 0.1 * torch.randn(n, generator=g)
    return level


def lanes(series):
    """Cut into parallel lanes that are read side by side, in order."""
    n = (len(series) - 1) // LANES
    x = series[:n * LANES].view(LANES, n)
    y = series[1:n * LANES + 1].view(LANES, n)
    return x, y


class LevelNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.rnn = nn.GRU(1, width, batch_first=True)
        self.out = nn.Linear(width, 1)

    def forward(self, x, state=None):
        h, state = self.rnn(x.unsqueeze(2), state)
        return self.out(h).squeeze(2), state.detach()


torch.manual_seed(52)
g = torch.Generator().manual_seed(52)
series = record(20000, g)
train_x, train_y = lanes(series[:16000])
val_x, val_y = lanes(series[16000:])
net = LevelNet()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
for epoch in range(4):
    net.train()
    state, losses = None, []
    for s in range(0, train_x.shape[1] - PIECE + 1, PIECE):
        pred, state = net(train_x[:, s:s + PIECE], state)
        loss = nn.functional.mse_loss(pred, train_y[:, s:s + PIECE])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(net(val_x)[0], val_y).item()
    print(f"epoch {epoch} mse {sum(losses) / len(losses):.4f} val {val:.4f}")
