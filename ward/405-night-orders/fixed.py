from dataclasses import dataclass, field

import torch
from torch import Tensor, nn


@dataclass
class Settings:
    micro_batch: int = 20
    micro_batches_per_update: int = 8
    updates: int = 80
    lr: float = 0.15
    window: int = 16
    sizes: list = field(default_factory=lambda: [1, 24])


def order_curve(n: int, window: int, gen: torch.Generator) -> tuple[Tensor, Tensor]:
    """Orders per hour: two rhythms plus noise; the task is to foretell the next hour."""
    start = torch.rand(n, 1, generator=gen) * 50
    t = start + torch.arange(window + 1)
    y = torch.sin(t * 0.52) + 0.6 * torch.sin(t * 0.21 + 1.0)
    y = y + 0.1 * torch.randn(y.shape, generator=gen)
    return y[:, :-1].unsqueeze(-1), y[:, -1]


class Forecaster(nn.Module):
    def __init__(self, inputs: int, hidden: int):
        super().__init__()
        self.rnn = nn.RNN(inputs, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)
        nn.init.orthogonal_(self.rnn.weight_hh_l0)

    def forward(self, x: Tensor) -> Tensor:
        states, _ = self.rnn(x)
        return self.out(states[:, -1]).squeeze(-1)


class Session:
    def __init__(self, cfg: Settings):
        self.cfg = cfg
        self.gen = torch.Generator().manual_seed(99)
        self.model = Forecaster(*cfg.sizes)
        self.opt = torch.optim.SGD(self.model.parameters(), lr=cfg.lr)
        self.huber = nn.SmoothL1Loss()
        self.val = order_curve(400, cfg.window, self.gen)

    def update(self) -> float:
        self.opt.zero_grad()
        total = 0.0
        for _ in range(self.cfg.micro_batches_per_update):
            x, y = order_curve(self.cfg.micro_batch, self.cfg.window, self.gen)
            loss = self.huber(self.model(x), y) / self.cfg.micro_batches_per_update
            loss.backward()
            total += loss.item()
        self.opt.step()
        return total

    def evaluate(self) -> float:
        self.model.eval()
        with torch.no_grad():
            score = self.huber(self.model(self.val[0]), self.val[1]).item()
        self.model.train()
        return score

    def run(self) -> None:
        for k in range(1, self.cfg.updates + 1):
            loss = self.update()
            if k % 10 == 0:
                print(f"update {k:3d}: loss {loss:.4f} held out {self.evaluate():.4f}")


if __name__ == "__main__":
    torch.manual_seed(4)
    Session(Settings()).run()
