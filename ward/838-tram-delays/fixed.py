"""Tram delays, mixed precision with a gradient scaler."""
from dataclasses import dataclass
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Settings:
    lr: float = 0.05
    momentum: float = 0.9
    epochs: int = 6
    batch: int = 40
    scale: float = 1024.0


def delays(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 9, generator=g)
    y = torch.sin(x[:, 0]) + 0.5 * x[:, 1] * (x[:, 2] > 0) - 0.4 * x[:, 3] + 0.1 * torch.randn(n, generator=g)
    return x, y.unsqueeze(1)


def fit(cfg):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(9, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=cfg.momentum)
    scaler = torch.amp.GradScaler("cpu", init_scale=cfg.scale)
    loader = DataLoader(TensorDataset(*delays(2000, 3)), batch_size=cfg.batch, shuffle=True)
    xt, yt = delays(400, 4)
    for epoch in range(cfg.epochs):
        model.train()
        losses = []
        for x, y in loader:
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.float16):
                out = model(x)
            loss = nn.functional.mse_loss(out.float(), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            test = nn.functional.mse_loss(model(xt), yt).item()
        print(f"epoch {epoch} train mse {sum(losses) / len(losses):.4f} test {test:.4f}")


fit(Settings())
