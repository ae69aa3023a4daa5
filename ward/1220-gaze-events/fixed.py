"""Frame-wise events in eye tracking: nothing / blink / saccade, with a small temporal convolution network."""
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

EVENTS = ("none", "blink", "saccade")


@dataclass
class Cfg:
    recordings: int = 720
    frames: int = 128
    channels: int = 3
    batch: int = 12
    epochs: int = 6
    lr: float = 2e-3
    seed: int = 18


def record(cfg, n, g):
    x = torch.randn(n, cfg.channels, cfg.frames, generator=g)
    y = torch.zeros(n, cfg.frames, dtype=torch.long)
    for i in range(n):
        for kind in (1, 2):
            for _ in range(int(torch.randint(1, 3, (1,), generator=g))):
                t = int(torch.randint(3, cfg.frames - 3, (1,), generator=g))
                y[i, t] = kind
                if kind == 1:
                    x[i, 0, t - 1:t + 2] -= 0.9
                    x[i, 1, t - 1:t + 2] -= 0.9
                else:
                    x[i, 2, t - 1:t + 2] += 0.9
                    x[i, 1, t + 1:t + 3] += 0.9
    return TensorDataset(x, y)


class TCN(nn.Module):
    def __init__(self, cfg, width=16):
        super().__init__()
        self.inp = nn.Conv1d(cfg.channels, width, 5, padding=2)
        self.blocks = nn.ModuleList([nn.Conv1d(width, width, 3, padding=d, dilation=d) for d in (1, 2)])
        self.out = nn.Conv1d(width, len(EVENTS), 1)

    def forward(self, x):
        h = F.relu(self.inp(x))
        for conv in self.blocks:
            h = h + F.relu(conv(h))
        return self.out(h)


def evaluate(model, loader, criterion):
    model.eval()
    outs, ys = [], []
    with torch.no_grad():
        for x, y in loader:
            outs.append(model(x))
            ys.append(y)
    out, y = torch.cat(outs), torch.cat(ys)
    pred = out.argmax(1)
    recall = [(pred[y == k] == k).float().mean().item() for k in range(len(EVENTS))]
    return criterion(out, y).item(), (pred == y).float().mean().item(), recall


def main(cfg):
    torch.manual_seed(cfg.seed)
    g = torch.Generator().manual_seed(cfg.seed)
    train = record(cfg, cfg.recordings, g)
    val = record(cfg, 240, g)
    train_dl = DataLoader(train, batch_size=cfg.batch, shuffle=True)
    val_dl = DataLoader(val, batch_size=60)
    model = TCN(cfg)
    share = torch.bincount(train.tensors[1].flatten(), minlength=len(EVENTS)) / train.tensors[1].numel()
    criterion = nn.CrossEntropyLoss(weight=1 / share / len(EVENTS))
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        model.train()
        running = 0.0
        for x, y in train_dl:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item()
        vloss, acc, recall = evaluate(model, val_dl, criterion)
        print(f"epoch {epoch + 1} train {running / len(train_dl):.4f} val {vloss:.4f} frame acc {acc:.4f} recall "
              + " ".join(f"{name} {r:.2f}" for name, r in zip(EVENTS, recall)))


if __name__ == "__main__":
    main(Cfg())
