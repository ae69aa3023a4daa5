import math

import torch
import torch.nn as nn

torch.manual_seed(16)


def drive(n):
    """Lateral offset, heading error, speed, curvature -> steering command in (-1, 1)."""
    s = torch.randn(n, 4)
    command = torch.tanh(-0.8 * s[:, 0] - 0.9 * s[:, 1] * torch.sigmoid(s[:, 2]) + 0.6 * torch.sin(2 * s[:, 3]))
    return s, (0.95 * command + 0.02 * torch.randn(n)).clamp(-0.98, 0.98)


class Steering(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh())
        self.out = nn.Linear(width, 1)
        gain = nn.init.calculate_gain("tanh")
        for m in self.body:
            if isinstance(m, nn.Linear):
                nn.init.orthogonal_(m.weight, gain=gain)
                nn.init.zeros_(m.bias)
        nn.init.orthogonal_(self.out.weight, gain=0.01)
        nn.init.zeros_(self.out.bias)

    def forward(self, s):
        return torch.tanh(self.out(self.body(s))).squeeze(-1)


states, commands = drive(2500)
val_states, val_commands = drive(500)
policy = Steering()
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for epoch in range(8):
    policy.train()
    epoch_loss = 0.0
    batches = torch.randperm(len(states)).split(50)
    for b in batches:
        loss = nn.functional.mse_loss(policy(states[b]), commands[b])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() / len(batches)
    policy.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(policy(val_states), val_commands).item()
    print(f"epoch {epoch}: imitation loss {epoch_loss:.5f}, validation {val:.5f} (rmse {math.sqrt(val):.3f})")
