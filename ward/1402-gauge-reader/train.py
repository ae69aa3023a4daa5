"""Read analogue pressure gauges from small grey pictures (regression)."""
import csv
import io
import math

import torch
import torch.nn as nn


def draw_gauge(reading, g, size=20):
    """reading in 0..10 bar -> needle angle from -135 to +135 degrees."""
    ang = math.radians(-135 + 27 * reading)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    jitter = torch.rand(2, generator=g) - 0.5
    cy, cx = size / 2 - 0.5 + jitter[0], size / 2 - 0.5 + jitter[1]
    dy, dx = cy - yy, xx - cx
    along = dx * math.sin(ang) + dy * math.cos(ang)
    across = dx * math.cos(ang) - dy * math.sin(ang)
    needle = ((along > -1) & (along < 7.5)).float() * torch.exp(-across ** 2 / 0.8)
    rim = torch.exp(-((dx ** 2 + dy ** 2).sqrt() - 9) ** 2 / 0.6)
    img = 0.8 * needle + 0.5 * rim + 0.08 * torch.randn(size, size, generator=g)
    return img * (0.8 + 0.4 * torch.rand(1, generator=g))


def collect(n, g):
    """Stand-in for the folder of pictures and the log sheet written during the shift."""
    folder, sheet = {}, io.StringIO()
    out = csv.writer(sheet)
    for i in range(n):
        reading = 10 * torch.rand(1, generator=g).item()
        folder[f"gauge_{i}.png"] = draw_gauge(reading, g)
        out.writerow([f"{i // 60:02d}:{i % 60:02d}", round(reading + 0.05 * torch.randn(1, generator=g).item(), 2)])
    sheet.seek(0)
    return folder, sheet


def load(folder, sheet):
    names = sorted(folder)
    pictures = torch.stack([folder[name] for name in names]).unsqueeze(1)
    readings = torch.tensor([float(row[1]) for row in csv.reader(sheet)])
    assert len(pictures) == len(readings)
    return pictures, readings


def make_model():
    return nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(24 * 25, 48), nn.ReLU(), nn.Linear(48, 1))


def main():
    torch.manual_seed(8)
    g = torch.Generator().manual_seed(8)
    pictures, readings = load(*collect(2600, g))
    pictures = (pictures - pictures.mean()) / pictures.std()
    target = (readings - 5.0) / 2.9

    perm = torch.randperm(len(target), generator=g)
    tr, va = perm[:2100], perm[2100:]
    model = make_model()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
    for epoch in range(12):
        model.train()
        seen = 0.0
        mix = tr[torch.randperm(len(tr))]
        for ids in mix.split(50):
            pred = model(pictures[ids]).squeeze(1)
            loss = ((pred - target[ids]) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            seen += loss.item() * len(ids)
        model.eval()
        with torch.no_grad():
            pred = model(pictures[va]).squeeze(1)
        mse = ((pred - target[va]) ** 2).mean().item()
        mae = 2.9 * (pred - target[va]).abs().mean().item()
        print(f"epoch {epoch + 1:2d}: train mse {seen / len(tr):.4f}, val mse {mse:.4f}, val mae {mae:.2f} bar")


if __name__ == "__main__":
    main()
