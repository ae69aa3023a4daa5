import argparse

import torch
import torch.nn as nn

CHANNELS = 48


def simulate(n):
    """Spectra with one peak on a sloping background; we want its position and width."""
    axis = torch.linspace(-1, 1, CHANNELS)
    centre = torch.rand(n, 1) * 1.4 - 0.7
    width = torch.rand(n, 1) * 0.2 + 0.05
    height = torch.rand(n, 1) * 1.0 + 0.6
    slope = torch.randn(n, 1) * 0.6
    spectrum = height * torch.exp(-((axis - centre) / width) ** 2) + slope * axis
    spectrum = spectrum + 0.25 * torch.randn(n, CHANNELS)
    target = torch.cat([centre / 0.4, (width - 0.15) / 0.058], dim=1)
    return spectrum / 0.55, target


def build(width):
    return nn.Sequential(nn.Linear(CHANNELS, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2))


@torch.no_grad()
def evaluate(net, criterion, seed):
    net.eval()
    with torch.random.fork_rng():
        torch.manual_seed(seed)          # the same 500 spectra each time
        x, y = simulate(500)
    loss = criterion(net(x), y).item()
    net.train()
    return loss


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--eval-every", type=int, default=10)
    p.add_argument("--width", type=int, default=96)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--eval-seed", type=int, default=1234)
    a = p.parse_args()

    torch.manual_seed(a.seed)
    net = build(a.width)
    opt = torch.optim.Adam(net.parameters(), lr=a.lr)
    criterion = nn.MSELoss()
    running = 0.0
    for step in range(1, a.steps + 1):
        x, y = simulate(a.batch)
        loss = criterion(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item()
        if step % a.eval_every == 0:
            val = evaluate(net, criterion, a.eval_seed)
            if step % (4 * a.eval_every) == 0:
                print(f"step {step}  train {running / a.eval_every:.4f}  val {val:.4f}")
            running = 0.0


if __name__ == "__main__":
    main()
