"""Prototypical network: learn new written characters from five examples each."""
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Options:
    way: int = 5
    shot: int = 5
    query: int = 8
    episodes: int = 320
    report: int = 40
    test_episodes: int = 60
    lr: float = 1e-3
    seed: int = 27


def alphabet(n_classes, per_class, gen, size=16):
    """Every character is a smooth random walk of the pen; writers move, tilt and shake. (classes, examples, 1, s, s)"""
    grid = torch.stack(torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij"), -1).float()
    out = torch.zeros(n_classes, per_class, 1, size, size)
    for c in range(n_classes):
        knots = torch.rand(1, 2, 5, generator=gen) * 9 - 4.5
        path = F.interpolate(knots, size=24, mode="linear", align_corners=True)[0].T        # (24, 2)
        angle = 0.2 * torch.randn(per_class, generator=gen)
        cos, sin = angle.cos(), angle.sin()
        rot = torch.stack([torch.stack([cos, -sin], 1), torch.stack([sin, cos], 1)], 1)
        pts = path @ rot.transpose(1, 2) + size / 2 + 0.8 * torch.randn(per_class, 1, 2, generator=gen)
        pts = pts + 0.3 * torch.randn(pts.shape, generator=gen)
        dist = (grid.view(1, -1, 1, 2) - pts.unsqueeze(1)).pow(2).sum(-1).min(-1).values
        out[c, :, 0] = torch.exp(-dist / 0.8).view(per_class, size, size)
    return out + 0.1 * torch.randn(out.shape, generator=gen)


def episode(data, o, gen):
    """Draw classes and examples; inside an episode the classes are called 0 .. way-1."""
    classes = torch.randperm(data.shape[0], generator=gen)[:o.way]
    support, query = [], []
    for c in classes:
        pick = torch.randperm(data.shape[1], generator=gen)[:o.shot + o.query]
        support.append(data[c, pick[:o.shot]])
        query.append(data[c, pick[o.shot:]])
    labels = torch.arange(o.way).repeat_interleave(o.query)
    return torch.stack(support), torch.cat(query), labels


def conv(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=1), nn.GroupNorm(4, cout), nn.ReLU(), nn.MaxPool2d(2))


class Encoder(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.net = nn.Sequential(conv(1, c), conv(c, 2 * c), conv(2 * c, 2 * c), nn.Flatten())

    def forward(self, x):
        return self.net(x)


def episode_loss(net, support, query, labels):
    way, shot = support.shape[:2]
    z = net(torch.cat([support.flatten(0, 1), query]))
    protos = z[:way * shot].view(way, shot, -1).mean(1)
    logits = -torch.cdist(z[way * shot:], protos).pow(2) / z.shape[1] ** 0.5
    return F.cross_entropy(logits, labels), (logits.argmax(1) == labels).float().mean()


def main(o):
    torch.manual_seed(o.seed)
    gen = torch.Generator().manual_seed(o.seed)
    background, novel = alphabet(60, 20, gen), alphabet(25, 20, gen)
    net = Encoder()
    optimizer = torch.optim.Adam(net.parameters(), lr=o.lr)
    run_loss = run_acc = 0.0
    for step in range(1, o.episodes + 1):
        net.train()
        loss, acc = episode_loss(net, *episode(background, o, gen))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run_loss, run_acc = run_loss + loss.item() / o.report, run_acc + acc.item() / o.report
        if step % o.report == 0:
            net.eval()
            fixed = torch.Generator().manual_seed(1)
            with torch.no_grad():
                res = torch.tensor([[v.item() for v in episode_loss(net, *episode(novel, o, fixed))]
                                    for _ in range(o.test_episodes)]).mean(0)
            print(f"episode {step:4d} train {run_loss:.4f} acc {run_acc:.3f} | novel {res[0]:.4f} acc {res[1]:.3f}")
            run_loss = run_acc = 0.0


if __name__ == "__main__":
    main(Options())
