"""Mixture density network: joint angle of a two-link arm from the position of its hand."""
import argparse
import math

import torch
from torch import nn


class MDN(nn.Module):
    def __init__(self, n_in, n_hidden, n_mix):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(n_in, n_hidden), nn.Tanh(), nn.Linear(n_hidden, n_hidden), nn.Tanh())
        self.logit = nn.Linear(n_hidden, n_mix)
        self.mean = nn.Linear(n_hidden, n_mix)
        self.log_sd = nn.Linear(n_hidden, n_mix)

    def forward(self, x):
        h = self.trunk(x)
        return self.logit(h), self.mean(h), self.log_sd(h).clamp(-4, 3)


def nll(out, y):
    logit, mean, log_sd = out
    z = (y - mean) / log_sd.exp()
    log_p = -0.5 * z ** 2 - log_sd - 0.5 * math.log(2 * math.pi)
    return -torch.logsumexp(torch.log_softmax(logit, -1) + log_p, -1).mean()


def poses(n, generator):
    shoulder = torch.rand(n, generator=generator) * 2 - 1
    elbow = (torch.rand(n, generator=generator) * 1.6 + 0.4) * (torch.rand(n, generator=generator) < 0.5).float().mul(2).sub(1)
    hand = torch.stack([shoulder.cos() + (shoulder + elbow).cos(), shoulder.sin() + (shoulder + elbow).sin()], 1)
    hand = (hand - torch.tensor([1.15, 0.0])) / torch.tensor([0.55, 0.95])
    return hand + 0.05 * torch.randn(n, 2, generator=generator), elbow.unsqueeze(1)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--hidden", type=int, default=32)
    ap.add_argument("--mixtures", type=int, default=3)
    ap.add_argument("--lr", type=float, default=0.1)
    ap.add_argument("--steps", type=int, default=400)
    ap.add_argument("--batch", type=int, default=64)
    args = ap.parse_args()

    torch.manual_seed(1)
    gen = torch.Generator().manual_seed(1)
    x, y = poses(4000, gen)
    xv, yv = poses(800, gen)
    net = MDN(2, args.hidden, args.mixtures)
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    window = []
    for step in range(1, args.steps + 1):
        net.train()
        idx = torch.randint(len(x), (args.batch,))
        loss = nll(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        window.append(loss.item())
        if step % 40 == 0:
            net.eval()
            with torch.no_grad():
                val = nll(net(xv), yv).item()
            print(f"step {step:4d}  nll {sum(window) / len(window):8.4f}  val nll {val:8.4f}")
            window = []
