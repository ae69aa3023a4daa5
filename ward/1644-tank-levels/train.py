"""Predicts a tank's level from its valves; the cell is written out because its state is clamped at every minute."""
import torch
import torch.nn.functional as F
from torch import nn

MINUTES, VALVES, HIDDEN = 48, 3, 16
torch.manual_seed(4)


def shifts(n):
    valves = (torch.rand(n, MINUTES, VALVES) < 0.4).float()
    level, levels = torch.full((n,), 0.5), []
    for minute in range(MINUTES):
        level = (0.95 * level + 0.08 * valves[:, minute, 0] - 0.05 * valves[:, minute, 1]).clamp(0, 1)
        levels.append(level)
    return valves, torch.stack(levels, 1)


class Tank(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(VALVES, HIDDEN)
        self.stay = nn.Linear(HIDDEN, HIDDEN)
        self.read = nn.Linear(HIDDEN, 1)

    def forward(self, valves, levels):
        state = torch.zeros(len(valves), HIDDEN)
        loss = 0.0
        for minute in range(valves.shape[1]):
            state = torch.tanh(self.enter(valves[:, minute]) + self.stay(state)).clamp(-0.95, 0.95)
            loss = loss + F.mse_loss(self.read(state).squeeze(1), levels[:, minute])
        return loss / valves.shape[1]


train, val = shifts(512), shifts(128)
model = Tank()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(12):
    order = torch.randperm(512)
    total = 0.0
    for batch in order.split(32):
        loss = model(train[0][batch], train[1][batch])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        total += loss.item() / 16
    with torch.no_grad():
        held_out = model(*val).item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1} train {total:.4f} val {held_out:.4f}")
