"""Beat classification on simulated single-lead ECG."""
import math
from dataclasses import dataclass, field

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def beats(n, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, 1, 96)
    kind = torch.randint(0, 4, (n,), generator=g)

    def bump(centre, width, height):
        return height[:, None] * torch.exp(-((t - centre[:, None]) / width[:, None]) ** 2)

    r = lambda lo, hi: lo + (hi - lo) * torch.rand(n, generator=g)
    wide = torch.where(kind == 1, r(0.05, 0.08), r(0.02, 0.035))           # ventricular: broad QRS
    has_p = torch.where(kind == 2, r(-0.02, 0.04), r(0.12, 0.22))          # no P wave
    t_wave = torch.where(kind == 3, r(-0.35, -0.15), r(0.2, 0.4))          # inverted T wave
    c = r(0.42, 0.52)
    x = bump(c, wide, r(0.9, 1.3)) + bump(c - 0.2, r(0.03, 0.05), has_p) + bump(c + 0.27, r(0.05, 0.08), t_wave)
    x = x + 0.1 * torch.sin(2 * math.pi * (t * r(0.5, 1.5)[:, None] + r(0, 1)[:, None])) + 0.06 * torch.randn(n, 96, generator=g)
    return (x[:, None] - 0.1) / 0.3, kind


@dataclass
class TrainerConfig:
    epochs: int = 12
    lr: float = 3e-3
    weight_decay: float = 0.05
    track: list = field(default_factory=lambda: ["stem.weight", "head.weight"])


class BeatNet(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.stem = nn.Conv1d(1, ch, 7, stride=2, padding=3)
        self.n1 = nn.GroupNorm(4, ch)
        self.mid = nn.Conv1d(ch, 2 * ch, 5, stride=2, padding=2)
        self.n2 = nn.GroupNorm(4, 2 * ch)
        self.head = nn.Linear(2 * ch * 6, 4)

    def forward(self, x):
        x = torch.relu(self.n1(self.stem(x)))
        x = torch.relu(self.n2(self.mid(x)))
        return self.head(nn.functional.adaptive_avg_pool1d(x, 6).flatten(1))


class GradientLog:
    def __init__(self, model, names):
        self.params = {n: p for n, p in model.named_parameters() if n in names}
        self.rows = []

    def collect(self):
        self.rows.append([p.grad.norm().item() for p in self.params.values()])

    def summary(self):
        mean = torch.tensor(self.rows).mean(0).tolist()
        self.rows.clear()
        return "  ".join(f"|{n}| {v:.3f}" for n, v in zip(self.params, mean))


class Trainer:
    def __init__(self, model, cfg):
        self.model, self.cfg = model, cfg
        self.opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
        self.log = GradientLog(model, cfg.track)

    def training_step(self, batch):
        x, y = batch
        return nn.functional.cross_entropy(self.model(x), y)

    def optimise(self, loss):
        loss.backward()
        self.log.collect()
        self.opt.zero_grad(set_to_none=False)
        self.opt.step()

    def fit(self, train, val):
        for epoch in range(self.cfg.epochs):
            self.model.train()
            seen = 0.0
            for batch in train:
                loss = self.training_step(batch)
                self.optimise(loss)
                seen += loss.item() / len(train)
            print(f"epoch {epoch + 1:2d}  loss {seen:.4f}  " + self.validate(val) + "  " + self.log.summary())

    @torch.no_grad()
    def validate(self, val):
        self.model.eval()
        loss = right = count = 0
        for x, y in val:
            out = self.model(x)
            loss += nn.functional.cross_entropy(out, y, reduction="sum").item()
            right += (out.argmax(1) == y).sum().item()
            count += len(y)
        return f"val {loss / count:.4f}  acc {right / count:.3f}"


if __name__ == "__main__":
    torch.manual_seed(14)
    train = DataLoader(TensorDataset(*beats(2400, 1)), batch_size=48, shuffle=True)
    val = DataLoader(TensorDataset(*beats(800, 2)), batch_size=200)
    Trainer(BeatNet(), TrainerConfig()).fit(train, val)
