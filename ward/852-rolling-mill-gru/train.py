"""Thickness of a steel strip, read as one long stream; the state goes from chunk to chunk."""
import torch
import torch.nn as nn

torch.manual_seed(9)


def stream(steps, lanes=8, chunk=16):
    t = 0
    phase = torch.rand(lanes, 1) * 6.28
    for _ in range(steps):
        time = torch.arange(t, t + chunk + 1)
        s = torch.sin(0.3 * time + phase) + 0.5 * torch.sin(0.11 * time + 2 * phase) + 0.05 * torch.randn(lanes, chunk + 1)
        t += chunk
        yield s[:, :-1, None], s[:, 1:, None]


class Mill(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.gru = nn.GRU(1, d, batch_first=True)
        self.out = nn.Linear(d, 1)

    def forward(self, x, h):
        y, h = self.gru(x, h)
        return self.out(y), h


model = Mill()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
h = torch.zeros(1, 8, 32)
for step, (x, y) in enumerate(stream(250), 1):
    pred, h = model(x, h)
    loss = nn.functional.mse_loss(pred, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0 or step == 1:
        print(f"step {step:3d} mse {loss.item():.4f}")
