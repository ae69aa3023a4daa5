"""Beat classification on simulated ECG windows with a deep 1-D CNN."""
from dataclasses import dataclass
import math
import torch
from torch import nn
from torch.utils.data import TensorDataset, DataLoader


@dataclass
class Cfg:
    length: int = 96
    channels: int = 12
    blocks: int = 12
    classes: int = 4
    epochs: int = 8
    batch_size: int = 64
    lr: float = 1e-3
    weight_decay: float = 1e-4
    seed: int = 4


def bump(t, c, w, a):
    return a * torch.exp(-0.5 * ((t - c) / w) ** 2)


def beats(n, cfg, seed):
    g = torch.Generator().manual_seed(seed)
    r = lambda lo, hi: lo + (hi - lo) * torch.rand(n, 1, generator=g)
    t = torch.linspace(0, 1, cfg.length)[None]
    y = torch.randint(0, cfg.classes, (n,), generator=g)
    k = y[:, None]
    centre = r(0.4, 0.6)
    p_amp = torch.where(k == 1, r(-0.02, 0.06), r(0.15, 0.3))           # 1: no P wave
    qrs_w = torch.where(k == 2, r(0.035, 0.055), r(0.012, 0.022))       # 2: broad QRS
    t_amp = torch.where(k == 3, r(-0.4, -0.15), r(0.15, 0.4))           # 3: inverted T
    x = bump(t, centre - 0.18, 0.03, p_amp) + bump(t, centre, qrs_w, r(0.8, 1.3)) + bump(t, centre + 0.24, 0.05, t_amp)
    x = x + r(-0.2, 0.2) * torch.sin(2 * math.pi * (t + r(0, 1))) + 0.08 * torch.randn(n, cfg.length, generator=g)
    x = (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True)
    return TensorDataset(x[:, None], y)


class Block(nn.Module):
    def __init__(self, ch, k=5):
        super().__init__()
        self.conv1 = nn.Conv1d(ch, ch, k, padding=k // 2)
        self.conv2 = nn.Conv1d(ch, ch, k, padding=k // 2)
        self.relu = nn.ReLU()

    def forward(self, x):
        out = self.relu(self.conv1(x))
        out = self.conv2(out)
        return self.relu(out + x)


class BeatNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.stem = nn.Conv1d(1, cfg.channels, 7, stride=2, padding=3)
        self.blocks = nn.Sequential(*[Block(cfg.channels) for _ in range(cfg.blocks)])
        self.fc = nn.Linear(cfg.channels, cfg.classes)

    def forward(self, x):
        x = self.blocks(torch.relu(self.stem(x)))
        return self.fc(x.amax(-1))


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg.seed)
        self.train_dl = DataLoader(beats(2000, cfg, 1), cfg.batch_size, shuffle=True)
        self.val_dl = DataLoader(beats(500, cfg, 2), 500)
        self.net = BeatNet(cfg)
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
        self.loss = nn.CrossEntropyLoss()

    def epoch(self):
        self.net.train()
        tot = 0.0
        for x, y in self.train_dl:
            self.opt.zero_grad()
            loss = self.loss(self.net(x), y)
            loss.backward()
            self.opt.step()
            tot += loss.item() * len(y)
        return tot / len(self.train_dl.dataset)

    @torch.no_grad()
    def validate(self):
        self.net.eval()
        x, y = next(iter(self.val_dl))
        out = self.net(x)
        return self.loss(out, y).item(), (out.argmax(1) == y).float().mean().item()

    def run(self):
        for e in range(self.cfg.epochs):
            tr = self.epoch()
            vl, va = self.validate()
            print(f"epoch {e + 1} train_loss={tr:.4f} val_loss={vl:.4f} val_acc={va:.3f}")


if __name__ == "__main__":
    Trainer(Cfg()).run()
