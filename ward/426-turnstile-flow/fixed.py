from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from torch.amp import GradScaler, autocast


@dataclass
class Hyper:
    lr: float = 0.05
    momentum: float = 0.9
    clip: float = 3.0
    steps: int = 240
    batch: int = 50


class FlowNet(nn.Module):
    """Kind of crowd (commuters, match day, tourists, idle) from counts at 16 turnstiles."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(16, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, 4)

    def forward(self, x):
        x = F.gelu(self.fc1(x))
        x = F.gelu(self.fc2(x))
        return self.fc3(x)


def crowds(n):
    kind = torch.randint(0, 4, (n,))
    gate = torch.arange(16)
    wave = torch.sin(gate[None] * (0.4 + 0.3 * kind[:, None]) + torch.rand(n, 1) * 6.28)
    return wave * 1.3 + 0.9 * torch.randn(n, 16), kind


class Engine:
    def __init__(self, hyper):
        self.hp = hyper
        self.model = FlowNet()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=hyper.lr, momentum=hyper.momentum)
        self.scaler = GradScaler("cpu")

    def train_step(self, x, kind):
        self.optimizer.zero_grad(set_to_none=True)
        with autocast("cpu", dtype=torch.float16):
            loss = F.cross_entropy(self.model(x), kind)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.hp.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()

    @torch.no_grad()
    def evaluate(self, x, kind):
        out = self.model(x)
        return F.cross_entropy(out, kind).item(), (out.argmax(1) == kind).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(16)
    hp = Hyper()
    engine = Engine(hp)
    val = crowds(500)
    for step in range(1, hp.steps + 1):
        loss = engine.train_step(*crowds(hp.batch))
        if step % 24 == 0:
            val_loss, acc = engine.evaluate(*val)
            print(f"step {step:3d} | loss {loss:.4f} | val {val_loss:.4f} | acc {acc:.3f}")
