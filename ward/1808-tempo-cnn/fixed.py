import math
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser(description="estimate the tempo of a click track")
parser.add_argument("--channels", type=int, default=24)
parser.add_argument("--frames", type=int, default=50)
parser.add_argument("--train-size", type=int, default=1600)
parser.add_argument("--batch", type=int, default=32)
parser.add_argument("--lr", type=float, default=0.05)
parser.add_argument("--grad-clip", type=float, default=5.0)
parser.add_argument("--epochs", type=int, default=12)
parser.add_argument("--seed", type=int, default=30)


def clicks(n, frames, gen):
    tempo = 0.6 + 1.2 * torch.rand(n, generator=gen)            # clicks per ten frames
    phase = torch.rand(n, generator=gen)
    t = torch.arange(frames) / 10
    beat = (tempo[:, None] * t + phase[:, None]) % 1
    env = torch.exp(-8 * torch.minimum(beat, 1 - beat) ** 2 * 10)
    loud = 0.8 + 0.4 * torch.rand(n, 1, generator=gen)
    x = loud * env + 0.1 * torch.randn(n, frames, generator=gen)
    onset = torch.cat([torch.zeros(n, 1), (x[:, 1:] - x[:, :-1]).clamp(min=0)], 1)
    target = (tempo - 1.2) / (1.2 / math.sqrt(12))
    return torch.stack([x - 0.4, onset], -1), target


class TempoNet(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(2, ch, 9, padding=4), nn.ReLU(),
                                      nn.Conv1d(ch, ch, 9, padding=8, dilation=2), nn.ReLU())
        self.head = nn.Sequential(nn.Linear(ch, ch), nn.ReLU(), nn.Linear(ch, 1))

    def forward(self, x):
        return self.head(self.features(x.transpose(1, 2)).mean(-1)).squeeze(1)


def r2(pred, target):
    return 1 - ((pred - target) ** 2).mean().item() / target.var().item()


def main(args):
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    x_train, y_train = clicks(args.train_size, args.frames, gen)
    x_val, y_val = clicks(400, args.frames, gen)
    net = TempoNet(args.channels)
    criterion = nn.MSELoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)

    for epoch in range(args.epochs):
        net.train()
        total = 0.0
        for batch in torch.randperm(args.train_size).split(args.batch):
            optimizer.zero_grad()
            loss = criterion(net(x_train[batch]), y_train[batch])
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), args.grad_clip)
            optimizer.step()
            total += loss.item() * len(batch)
        scheduler.step()
        net.eval()
        with torch.no_grad():
            pred = net(x_val)
            val = criterion(pred, y_val).item()
        print(f"epoch {epoch + 1:2d}  train mse {total / args.train_size:.4f}  val mse {val:.4f}  R2 {r2(pred, y_val):.3f}")


if __name__ == "__main__":
    main(parser.parse_args())
