from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    rooms: int = 4
    clip: int = 128
    epochs: int = 10
    batch: int = 40
    lr: float = 2e-3


def clips(count, cfg, seed):
    g = torch.Generator().manual_seed(seed)
    room = torch.randint(0, cfg.rooms, (count,), generator=g)
    t = torch.arange(cfg.clip) / cfg.clip
    tone = torch.sin(2 * torch.pi * 5 * t + 6.28 * torch.rand(count, 1, generator=g))
    volume = 2000 * (0.5 + torch.rand(count, 1, generator=g))
    return volume * (tone + 0.25 * (1 + room[:, None]) * torch.randn(count, cfg.clip, generator=g)), room


def features(audio, normalise):
    spectrum = torch.fft.rfft(audio).abs()[:, :32]
    if normalise:
        spectrum = spectrum / spectrum.norm(dim=1, keepdim=True)
        return (spectrum - 0.15) * 8
    return spectrum


class RoomNet(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(32, 40), nn.Tanh(), nn.Linear(40, cfg.rooms))

    def forward(self, x):
        return self.layers(x)


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        logits = model(x)
    model.train()
    return nn.functional.cross_entropy(logits, y).item(), (logits.argmax(1) == y).float().mean().item()


def run(cfg):
    torch.manual_seed(30)
    audio, room = clips(1200, cfg, 1)
    val_audio, val_room = clips(400, cfg, 2)
    x, val_x = features(audio, normalise=True), features(val_audio, normalise=False)
    model = RoomNet(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    for epoch in range(cfg.epochs):
        for ids in torch.randperm(len(x)).split(cfg.batch):
            loss = nn.functional.cross_entropy(model(x[ids]), room[ids])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        val, acc = evaluate(model, val_x, val_room)
        print(f"epoch {epoch + 1:2d} loss {loss.item():.4f} val {val:.4f} acc {acc:.3f}")


run(Config())
