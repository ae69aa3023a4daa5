"""Kelp biomass per transect from 24 survey readings."""
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(3)


def survey(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 24, generator=g)
    depth = torch.sin(1.5 * x[:, 0]) + 0.5 * x[:, 1] - 0.5 * x[:, 3].abs()
    return x, (depth + 0.05 * torch.randn(n, generator=g)).unsqueeze(1)


train_loader = DataLoader(TensorDataset(*survey(2400, 1)), batch_size=32, shuffle=True)
val_x, val_y = survey(400, 2)
model = nn.Sequential(nn.Linear(24, 96), nn.Tanh(), nn.Linear(96, 96), nn.Tanh(), nn.Linear(96, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=6e-3)


def train_step(x, y):
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


for epoch in range(14):
    model.train()
    losses = [train_step(x, y) for x, y in train_loader]
    model.eval()
    with torch.no_grad():
        val = F.mse_loss(model(val_x), val_y).item()
    print(f"epoch {epoch + 1:2d}  train {sum(losses) / len(losses):.4f}  val {val:.4f}")
