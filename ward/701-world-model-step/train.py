"""Tiny action-conditioned world model: predict the next state of a damped pendulum on a cart from state + action."""
import argparse
import math
from contextlib import nullcontext

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=4)
parser.add_argument("--batch-size", type=int, default=128)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--hidden", type=int, default=96)
parser.add_argument("--bfloat16", type=int, default=1)
parser.add_argument("--seed", type=int, default=0)


def simulate(n, gen):
    th = (torch.rand(n, generator=gen) * 2 - 1) * math.pi
    om = torch.randn(n, generator=gen)
    x = torch.randn(n, generator=gen)
    v = torch.randn(n, generator=gen)
    a = torch.rand(n, generator=gen) * 2 - 1
    dt = 0.3
    om2 = om + dt * (-2.0 * torch.sin(th) - 0.2 * om + 1.5 * a * torch.cos(th))
    th2 = th + dt * om2
    v2 = v + dt * (2.0 * a - 0.3 * v + 0.4 * torch.sin(th))
    x2 = x + dt * v2
    obs = torch.stack([torch.sin(th), torch.cos(th), om, x, v], 1)
    nxt = torch.stack([torch.sin(th2), torch.cos(th2), om2, x2, v2], 1)
    return obs, a.unsqueeze(1), (nxt - obs)


class WorldModel(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.obs_in = nn.Linear(5, hidden)
        self.act_in = nn.Linear(1, hidden)
        self.trunk = nn.Sequential(nn.GELU(), nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, hidden), nn.GELU())
        self.out = nn.Linear(hidden, 5)

    def forward(self, obs, act):
        return self.out(self.trunk(self.obs_in(obs) + self.act_in(act)))


def train_step(model, opt, batch, use_bf16):
    obs, act, delta = batch
    ctx = torch.autocast("cpu", dtype=torch.bfloat16) if use_bf16 else nullcontext()
    with ctx:
        pred = model(obs, act)
    loss = F.mse_loss(pred.float(), delta)
    if use_bf16:
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        opt.step()  # bf16 has fp32's range, needs no scaler
    else:
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        opt.step()
    return loss.item()


@torch.no_grad()
def evaluate(model, batch):
    model.eval()
    obs, act, delta = batch
    err = F.mse_loss(model(obs, act), delta).item()
    model.train()
    return err


def main(args):
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(7)
    obs, act, delta = simulate(9216, gen)
    mu, sd = delta[:8192].mean(0), delta[:8192].std(0)
    delta = (delta - mu) / sd
    loader = DataLoader(TensorDataset(obs[:8192], act[:8192], delta[:8192]), batch_size=args.batch_size, shuffle=True)
    val = (obs[8192:], act[8192:], delta[8192:])
    model = WorldModel(args.hidden)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    step = 0
    for epoch in range(args.epochs):
        running = 0.0
        for batch in loader:
            running += train_step(model, opt, batch, bool(args.bfloat16))
            step += 1
        print(f"(step={step:05d}) epoch {epoch} train {running / len(loader):.4f} val {evaluate(model, val):.4f}")


if __name__ == "__main__":
    main(parser.parse_args())
