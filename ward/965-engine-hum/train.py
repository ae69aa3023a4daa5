import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def recordings(n, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, 1, 64)
    faulty = (torch.rand(n, generator=g) < 0.5).float()
    base = torch.sin(2 * math.pi * 3 * t)[None]
    rattle = faulty[:, None] * torch.sin(2 * math.pi * 11 * t)[None]
    clips = base + 0.8 * rattle + 0.5 * torch.randn(n, 64, generator=g)
    swapped = torch.rand(n, generator=g) < 0.22
    faulty[swapped] = 1 - faulty[swapped]
    return clips, faulty


def main(epochs=20):
    torch.manual_seed(6)
    clips, marks = recordings(1600, 1)
    val_clips, val_marks = recordings(500, 2)
    loader = DataLoader(TensorDataset(clips, marks), batch_size=40, shuffle=True)
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1))
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for epoch in range(epochs):
        net.train()
        total = 0.0
        for clips, marks in loader:
            loss = criterion(net(clips).squeeze(1), marks)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        net.eval()
        with torch.no_grad():
            out = net(val_clips).squeeze(1)
            val = criterion(out, val_marks).item()
            acc = ((out > 0).float() == val_marks).float().mean().item()
        print(f"epoch {epoch + 1} train {total / len(loader):.3f} val {val:.3f} acc {acc:.3f}")


main()
