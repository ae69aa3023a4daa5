import math
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(9)
DT, HORIZON = 0.1, 4


def simulate(n, steps):
    th = (torch.rand(n) * 2 - 1) * 2.0
    om = (torch.rand(n) * 2 - 1) * 1.5
    seq = [torch.stack([th, om], 1)]
    for _ in range(steps):
        for _ in range(5):                      # finer inner integration
            om = om - (DT / 5) * (4.0 * torch.sin(th) + 0.2 * om)
            th = th + (DT / 5) * om
        seq.append(torch.stack([th, om], 1))
    return torch.stack(seq, 1)                  # (n, steps+1, 2)


class Dynamics(nn.Module):
    def __init__(self):
        super(Dynamics, self).__init__()
        self.net = nn.Sequential(nn.Linear(2, 48), nn.Tanh(), nn.Linear(48, 2))

    def forward(self, s):
        return s + self.net(s)


train = simulate(1024, HORIZON)
test = simulate(300, HORIZON)
model = Dynamics()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=25 * 16)


def rollout_loss(batch):
    s = batch[:, 0]
    per_step = []
    for k in range(HORIZON):
        s = model(s)
        per_step.append(F.mse_loss(s, batch[:, k + 1]).item())
    return torch.tensor(per_step, requires_grad=True).mean()


for epoch in range(25):
    tot = 0
    for idx in torch.randperm(len(train)).split(64):
        optimizer.zero_grad()
        loss = rollout_loss(train[idx])
        loss.backward()
        optimizer.step()
        sched.step()
        tot += loss.item()
    if epoch % 4 == 0:
        with torch.no_grad():
            print(f"epoch {epoch:3d} train {tot / 16:.5f} test {rollout_loss(test).item():.5f}")
