import math
from dataclasses import dataclass
import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

KINDS = ["sine", "square", "saw", "chirp", "burst"]


@dataclass
class Args:
    dim: int = 32
    patch: int = 8
    length: int = 128
    batch: int = 32
    steps: int = 500
    max_lr: float = 4e-3


class Waves(IterableDataset):
    """Endless stream of noisy waveforms."""

    def __init__(self, length, seed):
        self.length, self.seed = length, seed

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed)
        t = torch.linspace(0, 1, self.length)
        while True:
            k = int(torch.randint(len(KINDS), (), generator=g))
            f, ph, amp = torch.rand(3, generator=g).tolist()
            f, amp = 3 + 5 * f, 0.8 + 0.6 * amp
            arg = 2 * math.pi * (f * t + ph)
            w = [torch.sin(arg), torch.sin(arg).sign(), 2 * ((f * t + ph) % 1) - 1,
                 torch.sin(arg * (0.5 + t)), torch.sin(arg) * torch.exp(-((t - 0.25 - ph / 2) / 0.12) ** 2)][k]
            yield amp * w + 0.6 * torch.randn(self.length, generator=g), k


class PatchFormer(nn.Module):
    def __init__(self, a):
        super().__init__()
        self.patch = a.patch
        self.embed = nn.Linear(a.patch, a.dim)
        self.pos = nn.Parameter(0.02 * torch.randn(1, a.length // a.patch, a.dim))
        layer = nn.TransformerEncoderLayer(a.dim, 4, 2 * a.dim, 0.05, batch_first=True, norm_first=True, activation="gelu")
        self.enc = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(a.dim), enable_nested_tensor=False)
        self.head = nn.Linear(a.dim, len(KINDS))

    def forward(self, x):
        h = self.embed(x.unflatten(1, (-1, self.patch))) + self.pos
        return self.head(self.enc(h).mean(1))


def validate(model, batches):
    model.eval()
    with torch.no_grad():
        out = [(nn.functional.cross_entropy(model(x), y).item(), (model(x).argmax(1) == y).float().mean().item()) for x, y in batches]
    model.train()
    return [sum(c) / len(out) for c in zip(*out)]


def main(a=Args()):
    torch.manual_seed(6)
    stream = iter(DataLoader(Waves(a.length, seed=1), batch_size=a.batch))
    val_iter = iter(DataLoader(Waves(a.length, seed=2), batch_size=200))
    val = [next(val_iter) for _ in range(4)]
    model = PatchFormer(a)
    opt = torch.optim.AdamW(model.parameters(), lr=a.max_lr, weight_decay=1e-2)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, a.max_lr, total_steps=a.steps, pct_start=0.15, anneal_strategy="cos", final_div_factor=1e6)
    avg = 0.0
    for step in range(1, a.steps + 1):
        x, y = next(stream)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        avg += loss.item()
        if step % 50 == 0:
            vl, va = validate(model, val)
            print(f"{step:5d} lr {opt.param_groups[0]['lr']:.1e} train {avg / 50:.3f} val {vl:.3f} acc {va:.3f}")
            avg = 0.0


main()
