import copy
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


@dataclass
class Config:
    width: int = 128
    rank: int = 4
    alpha: float = 8.0
    base_lr: float = 2e-3
    adapter_lr: float = 5e-3
    base_epochs: int = 5
    adapter_epochs: int = 8
    batch: int = 50
    seed: int = 3


class AdapterLinear(nn.Module):
    """A frozen linear layer plus a trainable low-rank correction."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float):
        super().__init__()
        self.base = base
        for p in self.base.parameters():
            p.requires_grad_(False)
        self.down = nn.Parameter(torch.zeros(rank, base.in_features))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * F.linear(F.linear(x, self.down), self.up)


def build(cfg):
    return nn.Sequential(nn.Linear(64, cfg.width), nn.ReLU(), nn.Linear(cfg.width, cfg.width), nn.ReLU(), nn.Linear(cfg.width, 10))


def adapt(net, cfg):
    net = copy.deepcopy(net)
    for i, layer in enumerate(net):
        if isinstance(layer, nn.Linear):
            net[i] = AdapterLinear(layer, cfg.rank, cfg.alpha)
    return net


def epochs(net, X, y, held, cfg, n, lr, tag):
    params = [p for p in net.parameters() if p.requires_grad]
    print(f"[{tag}] {sum(p.numel() for p in params)} trainable parameters")
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.01)
    for epoch in range(n):
        running = []
        for b in torch.randperm(len(X)).split(cfg.batch):
            loss = F.cross_entropy(net(X[b]), y[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            running.append(loss.item())
        with torch.no_grad():
            acc = (net(held[0]).argmax(1) == held[1]).float().mean().item()
        print(f"[{tag}] epoch {epoch:2d} loss {sum(running) / len(running):.4f} held-out acc {acc:.3f}")


def main(cfg=Config()):
    torch.manual_seed(cfg.seed)
    data = load_digits()
    perm = torch.randperm(len(data.target))
    images = torch.tensor(data.images, dtype=torch.float32)[perm] / 8 - 1
    labels = torch.tensor(data.target)[perm]
    upright = images.flatten(1)
    turned = torch.rot90(images, 1, (1, 2)).flatten(1)          # the second scanner feeds sheets sideways

    base = build(cfg)
    epochs(base, upright[:1400], labels[:1400], (upright[1400:], labels[1400:]), cfg, cfg.base_epochs, cfg.base_lr, "base")
    tuned = adapt(base, cfg)
    epochs(tuned, turned[:1400], labels[:1400], (turned[1400:], labels[1400:]), cfg, cfg.adapter_epochs, cfg.adapter_lr, "adapter")


if __name__ == "__main__":
    main()
