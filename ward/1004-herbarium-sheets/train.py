"""Herbarium sheets: genus from a vector of leaf measurements; the genus comes from the curators' index cards."""
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Config:
    sheets: int = 2600
    genera: int = 6
    measures: int = 14
    hidden: int = 48
    batch_size: int = 40
    lr: float = 2e-3
    epochs: int = 7
    seed: int = 17


def digitise(cfg, n, prefix, g, centres):
    """File name -> measurements, and the genus as it stands on the sheet."""
    scans, genus = {}, {}
    kind = torch.randint(cfg.genera, (n,), generator=g)
    for i in range(n):
        name = f"{prefix}{i:05d}.tif"
        scans[name] = centres[kind[i]] + torch.randn(cfg.measures, generator=g)
        genus[name] = int(kind[i])
    return scans, genus


def index_cards(genus, g):
    """The card box, typed up over the years: about two thirds of the sheets have a card."""
    return {name: k for name, k in genus.items() if torch.rand(1, generator=g).item() < 0.66}


class Sheets(Dataset):
    def __init__(self, scans, cards):
        self.names = sorted(scans)
        self.x = torch.stack([scans[name] for name in self.names])
        self.y = torch.tensor([cards.get(name, 0) for name in self.names])

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Classifier(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(cfg.measures, cfg.hidden), nn.GELU(),
            nn.Linear(cfg.hidden, cfg.hidden), nn.GELU(),
            nn.Linear(cfg.hidden, cfg.genera),
        )

    def forward(self, x):
        return self.layers(x)


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    loss_sum, hits, n = 0.0, 0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for x, y in loader:
            out = model(x)
            loss = criterion(out, y)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss_sum / n, hits / n


def main(cfg):
    torch.manual_seed(cfg.seed)
    g = torch.Generator().manual_seed(cfg.seed)
    centres = torch.randn(cfg.genera, cfg.measures, generator=g)
    scans, genus = digitise(cfg, cfg.sheets, "H", g, centres)
    cards = index_cards(genus, g)
    val_scans, val_genus = digitise(cfg, 500, "V", g, centres)       # re-determined by an expert this spring
    train = DataLoader(Sheets(scans, cards), cfg.batch_size, shuffle=True)
    valid = DataLoader(Sheets(val_scans, val_genus), 250)
    model = Classifier(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(1, cfg.epochs + 1):
        tl, ta = run_epoch(model, train, criterion, optimizer)
        vl, va = run_epoch(model, valid, criterion)
        print(f"{epoch}: train {tl:.3f} ({ta:.3f})  valid {vl:.3f} ({va:.3f})")


main(Config())
