import numpy as np
import torch
from torch import nn, optim

HIDDEN = [64, 64, 32]
N_CLASSES = 3


def spirals(n, rng):
    arm = rng.integers(0, N_CLASSES, n)
    r = np.sqrt(rng.uniform(0.02, 1, n))
    angle = 2 * np.pi * arm / N_CLASSES + 5.0 * r + rng.normal(0, 0.14, n)
    pts = np.stack([r * np.cos(angle), r * np.sin(angle)], 1) * 1.8
    return torch.tensor(pts, dtype=torch.float32), torch.tensor(arm)


class ArmClassifier(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:]))
        self.act = nn.SiLU()

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = self.act(layer(x))
        return self.layers[-1](x)


def fit(model, data, val, epochs=16, batch=64):
    x, y = data
    optimizer = optim.Adam(model.parameters(), lr=4e-3)
    scheduler = optim.lr_scheduler.OneCycleLR(optimizer, 8e-3, total_steps=epochs * -(-len(y) // batch))
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        model.train()
        running = 0.0
        for idx in torch.randperm(len(y)).split(batch):
            optimizer.zero_grad()
            loss = criterion(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
            scheduler.step()
            running += loss.item() * len(idx)
        if (epoch + 1) % 2:
            continue
        model.eval()
        with torch.no_grad():
            out = model(val[0])
        print(f"{epoch + 1:3d}: train {running / len(y):.4f}  val {criterion(out, val[1]).item():.4f}  "
              f"val acc {(out.argmax(1) == val[1]).float().mean().item():.3f}")


if __name__ == "__main__":
    rng = np.random.default_rng(10)
    torch.manual_seed(10)
    train, val = spirals(5000, rng), spirals(1500, rng)
    fit(ArmClassifier([2] + HIDDEN + [N_CLASSES]), train, val)
