"""Recognise hand gestures from a three-axis accelerometer; SGD with warm restarts."""
import math

import torch
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingWarmRestarts
from torch.utils.data import DataLoader, TensorDataset

GESTURES = ["circle", "wave", "punch", "twist", "shake"]
T = 40


def record(n, seed):
    g = torch.Generator().manual_seed(seed)
    t = torch.linspace(0, 1, T)
    labels = torch.randint(0, len(GESTURES), (n,), generator=g)
    out = torch.zeros(n, 3, T)
    for i, k in enumerate(labels.tolist()):
        speed = 1.0 + 0.3 * torch.randn(1, generator=g).item()
        phase = 2 * math.pi * torch.rand(1, generator=g).item()
        w = 2 * math.pi * speed * t + phase
        if k == 0:
            axes = [torch.sin(w), torch.cos(w), 0 * t]
        elif k == 1:
            axes = [torch.sin(2 * w), 0.3 * torch.cos(w), 0 * t]
        elif k == 2:
            axes = [0 * t, 0.2 * torch.sin(w), 1.5 * torch.exp(-((t - 0.3 - 0.4 * phase / 7) * 12) ** 2)]
        elif k == 3:
            axes = [0.4 * torch.sin(w), 0.4 * torch.cos(2 * w), torch.sin(w + 1)]
        else:
            axes = [torch.sin(5 * w), 0.5 * torch.sin(5 * w + 1), 0 * t]
        out[i] = torch.stack(axes) * (0.8 + 0.4 * torch.rand(1, generator=g).item())
    return out + 0.65 * torch.randn(out.shape, generator=g), labels


class GestureNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(3, width, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
                                  nn.Conv1d(width, width, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(5))
        self.fc = nn.Linear(width * 5, len(GESTURES))

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


def main():
    torch.manual_seed(0)
    train_loader = DataLoader(TensorDataset(*record(2400, 1)), batch_size=24, shuffle=True)
    x_val, y_val = record(500, 2)
    model = GestureNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.08, momentum=0.9, weight_decay=5e-3)
    scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=2, T_mult=2, eta_min=1e-4)
    epochs = 14  # 2 + 4 + 8
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for i, (x, y) in enumerate(train_loader):
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step(epoch + i / len(train_loader))
            total += loss.item()
        model.eval()
        with torch.no_grad():
            out = model(x_val)
        print(f"epoch {epoch + 1:2d} lr {optimizer.param_groups[0]['lr']:.4f} train {total / len(train_loader):.4f} "
              f"val {criterion(out, y_val).item():.4f} acc {(out.argmax(1) == y_val).float().mean().item():.3f}")


if __name__ == "__main__":
    main()
