# How good is the current heating policy?  TD(0) evaluation with a small value network.
import random
import torch
from torch import nn

random.seed(1)
torch.manual_seed(1)
GAMMA, BATCH = 0.9, 64


def log_transitions(n):
    # state: (room temperature error, outside temperature, wind)
    rows = []
    s = torch.zeros(3)
    for _ in range(n):
        if random.random() < 0.1:
            s = torch.randn(3)
        cost = s[0] ** 2 + 0.2 * abs(s[1])
        nxt = torch.stack([0.7 * s[0] + 0.25 * s[1], 0.9 * s[1] + 0.1 * s[2], 0.8 * s[2]]) + 0.02 * torch.randn(3)
        rows.append((s, -float(cost), nxt))
        s = nxt
    return rows


class ValueNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 1))

    def forward(self, s):
        return self.net(s).squeeze(-1)


def evaluate(value, rows, horizon=30):
    # discounted return actually observed after some of the logged states
    starts = range(0, len(rows) - horizon, 12)
    states, rets = [], []
    for i in starts:
        s, g = rows[i][0], 0.0
        states.append(s)
        for k in range(horizon):
            g += GAMMA ** k * -(s[0] ** 2 + 0.2 * abs(s[1])).item()
            s = torch.stack([0.7 * s[0] + 0.25 * s[1], 0.9 * s[1] + 0.1 * s[2], 0.8 * s[2]])
        rets.append(g)
    with torch.no_grad():
        v = value(torch.stack(states)).view(-1)
    return (v - torch.tensor(rets)).pow(2).mean().sqrt().item(), torch.tensor(rets).std().item()


buffer = log_transitions(1000)
holdout = log_transitions(300)
value, target_net = ValueNet(), ValueNet()
target_net.load_state_dict(value.state_dict())
opt = torch.optim.Adam(value.parameters(), lr=2e-3)
recent = []

for step in range(1, 601):
    s, r, s2 = zip(*random.sample(buffer, BATCH))
    s, s2, r = torch.stack(s), torch.stack(s2), torch.tensor(r)
    with torch.no_grad():
        td_target = r + GAMMA * target_net(s2)
    td_error = td_target - value(s)
    loss = td_error.pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    recent.append(loss.item())
    with torch.no_grad():
        for p, q in zip(target_net.parameters(), value.parameters()):
            p.lerp_(q, 0.1)
    if step % 100 == 0:
        rms, spread = evaluate(value, holdout)
        print(f"step {step:4d}  td loss {sum(recent[-50:]) / 50:.4f}  value error {rms:.3f} (returns vary by {spread:.3f})")
