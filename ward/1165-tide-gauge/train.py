"""One-step-ahead water level at a tide gauge; the recurrent state is carried from chunk to chunk."""
import math

import torch
from torch import nn

HOURS, CHUNK, STREAMS = 4800, 16, 8


def gauge(hours):
    t = torch.arange(hours, dtype=torch.float32)
    tide = torch.sin(2 * math.pi * t / 12.42) + 0.45 * torch.sin(2 * math.pi * t / 12.0 + 1) + 0.3 * torch.sin(2 * math.pi * t / 25.8)
    surge = torch.zeros(hours)
    push = 0.08 * torch.randn(hours)
    for i in range(1, hours):
        surge[i] = 0.97 * surge[i - 1] + push[i]
    return tide + surge + 0.03 * torch.randn(hours)


class Gauge(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.cell = nn.GRU(1, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x, state):
        h, state = self.cell(x, state)
        return x + self.out(h), state


torch.manual_seed(10)
level = gauge(HOURS)
split = 3600
level = (level - level[:split].mean()) / level[:split].std()
# eight consecutive stretches of the record run side by side; within each, chunks follow in time
stretches = level[:split].view(STREAMS, -1).t().unsqueeze(2)
val = level[split:].view(-1, 1, 1)

model = Gauge()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
mse = nn.MSELoss()

for epoch in range(5):
    model.train()
    state, losses = None, []
    for start in range(0, len(stretches) - CHUNK, CHUNK):
        x = stretches[start:start + CHUNK]
        y = stretches[start + 1:start + CHUNK + 1]
        pred, state = model(x, state)
        loss = mse(pred, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        state = state.detach()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        pred, _ = model(val[:-1], None)
        v = mse(pred[24:], val[25:]).item()
        naive = mse(val[24:-1], val[25:]).item()
    print(f"epoch {epoch + 1}: train {sum(losses) / len(losses):.4f} val {v:.4f} (persistence {naive:.4f})")
