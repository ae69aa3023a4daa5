"""Inverse dynamics of a three-joint arm: joint angles, speeds, accelerations -> torques (iteration-based training)."""
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--iterations", type=int, default=500)
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--lr", type=float, default=0.015)
parser.add_argument("--momentum", type=float, default=0.9)
parser.add_argument("--print-freq", type=int, default=50)
parser.add_argument("--seed", type=int, default=13)
opt = parser.parse_args()

torch.manual_seed(opt.seed)


def log_of_arm(n):
    q = (torch.rand(n, 3) * 2 - 1) * 1.7
    dq, ddq = torch.randn(n, 3), torch.randn(n, 3)
    inertia = 1.0 + 0.5 * torch.cos(q)
    gravity = torch.stack([torch.sin(q[:, 0]), torch.sin(q[:, 0] + q[:, 1]), torch.sin(q.sum(1))], 1)
    coriolis = 0.3 * torch.sin(q.roll(1, 1)) * dq * dq.roll(1, 1)
    torque = inertia * ddq + 1.2 * gravity + coriolis + 0.25 * torch.tanh(5 * dq)
    torque = torque + 0.7 * torch.randn(n, 3)                 # strain gauges are noisy
    return torch.cat([q, dq, ddq], 1), torque / 1.7


class ReplayOfLog:
    """Endless random mini-batches from the recorded motion."""

    def __init__(self, x, y, batch_size):
        self.x, self.y, self.batch_size = x, y, batch_size

    def __iter__(self):
        while True:
            for idx in torch.randperm(len(self.x)).split(self.batch_size):
                yield self.x[idx], self.y[idx]


x_train, y_train = log_of_arm(20000)
x_val, y_val = log_of_arm(1500)

net = nn.Sequential(nn.Linear(9, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 3))
criterion = nn.MSELoss()
optimizer = torch.optim.SGD(net.parameters(), lr=opt.lr, momentum=opt.momentum)

meter, n = 0.0, 0
for it, (x, y) in enumerate(ReplayOfLog(x_train, y_train, opt.batch_size), 1):
    net.train()
    loss = criterion(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    meter, n = meter + loss.item(), n + 1
    if it % opt.print_freq == 0:
        net.eval()
        with torch.no_grad():
            val = criterion(net(x_val), y_val).item()
        print(f"[{it}/{opt.iterations}] loss {meter / n:.4f} val {val:.4f}")
        meter, n = 0.0, 0
    if it >= opt.iterations:
        break
