import argparse
import torch
import torch.nn as nn


class DeepStack(nn.Module):
    """Input projection, `depth` hidden blocks, output layer."""

    def __init__(self, n_in, n_out, width, depth):
        super().__init__()
        self.proj = nn.Linear(n_in, width)
        self.blocks = [nn.Sequential(nn.Linear(width, width), nn.LayerNorm(width), nn.ReLU())
                       for _ in range(depth)]
        self.out = nn.Linear(width, n_out)

    def forward(self, x):
        x = torch.relu(self.proj(x))
        for block in self.blocks:
            x = block(x)
        return self.out(x)


def checker(n, cells, gen):
    """Points of the unit square, coloured like a checkerboard with three colours."""
    xy = torch.rand(n, 2, generator=gen)
    ij = (xy * cells).long()
    return xy * 2 - 1, (ij[:, 0] + ij[:, 1]) % 3


def get_args():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--width", type=int, default=48)
    p.add_argument("--depth", type=int, default=3)
    p.add_argument("--epochs", type=int, default=16)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--batch", type=int, default=100)
    p.add_argument("--seed", type=int, default=12)
    return p.parse_args()


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    x, y = checker(3000, 4, gen)
    x_val, y_val = checker(1000, 4, gen)
    net = DeepStack(2, 3, args.width, args.depth)
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)
    ce = nn.CrossEntropyLoss()
    for epoch in range(args.epochs):
        net.train()
        total = 0.0
        for idx in torch.randperm(len(y), generator=gen).split(args.batch):
            opt.zero_grad()
            loss = ce(net(x[idx]), y[idx])
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        sched.step()
        net.eval()
        with torch.no_grad():
            out = net(x_val)
        print(f"epoch {epoch:2d} train loss {total / len(y):.4f} val loss {ce(out, y_val).item():.4f} "
              f"val acc {(out.argmax(1) == y_val).float().mean().item():.3f}")


if __name__ == "__main__":
    main()
