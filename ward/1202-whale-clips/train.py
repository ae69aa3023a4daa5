"""Call types of pilot whales from 2-second clips (spectral envelopes), three days of recording."""
from dataclasses import dataclass
from pathlib import PurePosixPath

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CALLS = ["whistle", "buzz", "rasp", "chirp", "click-train", "moan"]
DAYS = {"0611": 1000, "0612": 300, "0615": 220}


@dataclass
class Config:
    epochs: int = 6
    batch_size: int = 32
    lr: float = 1e-3
    width: int = 32
    seed: int = 8


def field_season(g):
    """Clips on disk and the annotation sheet; both list day by day, clip by clip."""
    shapes = torch.randn(len(CALLS), 40, generator=g).cumsum(1)
    shapes = (shapes - shapes.mean(1, keepdim=True)) / shapes.std(1, keepdim=True)
    clips, sheet = {}, []
    for day, count in DAYS.items():
        for i in range(count):
            call = int(torch.randint(len(CALLS), (1,), generator=g))
            path = f"{day}/clip_{i:04d}.wav"
            clips[path] = shapes[call] + 1.1 * torch.randn(40, generator=g)
            sheet.append((path, CALLS[call]))
    control = [(shapes[c] + 1.1 * torch.randn(40, generator=g), c) for c in torch.randint(len(CALLS), (400,), generator=g).tolist()]
    return clips, sheet, control


class ClipSet(Dataset):
    def __init__(self, clips, sheet):
        self.paths = sorted(clips)
        self.clips = clips
        self.call_of = {PurePosixPath(path).stem: CALLS.index(call) for path, call in sheet}

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        path = self.paths[i]
        return self.clips[path], self.call_of[PurePosixPath(path).stem]


def make_model(cfg):
    return nn.Sequential(
        nn.Unflatten(1, (1, 40)),
        nn.Conv1d(1, cfg.width // 2, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
        nn.Conv1d(cfg.width // 2, cfg.width, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
        nn.Flatten(), nn.Linear(cfg.width * 10, len(CALLS)),
    )


def main(cfg):
    torch.manual_seed(cfg.seed)
    clips, sheet, control = field_season(torch.Generator().manual_seed(cfg.seed))
    loader = DataLoader(ClipSet(clips, sheet), batch_size=cfg.batch_size, shuffle=True)
    x_val = torch.stack([x for x, _ in control])
    y_val = torch.tensor([c for _, c in control])
    model = make_model(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(cfg.epochs):
        model.train()
        losses, hits = [], 0
        for x, y in loader:
            out = model(x)
            loss = criterion(out, y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            hits += (out.argmax(1) == y).sum().item()
        model.eval()
        with torch.no_grad():
            out = model(x_val)
        print(f"epoch {epoch:2d} loss {sum(losses) / len(losses):.3f} acc {hits / len(loader.dataset):.3f} "
              f"| control loss {criterion(out, y_val).item():.3f} acc {(out.argmax(1) == y_val).float().mean().item():.3f}")


if __name__ == "__main__":
    main(Config())
