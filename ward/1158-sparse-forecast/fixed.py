"""Day-ahead load of a small grid from 30 lagged and calendar inputs; sparse weights wanted."""
import torch
from torch import nn


class LoadModel(nn.Module):
    """Forward pass and training loss in one module."""

    def __init__(self, n_in=30, width=32, l1=0.0002):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n_in, width), nn.ELU(), nn.Linear(width, width), nn.ELU(), nn.Linear(width, 1))
        self.l1 = l1

    def forward(self, x):
        return self.layers(x).squeeze(1)

    def penalty(self):
        return self.l1 * sum(p.abs().sum() for name, p in self.named_parameters() if "weight" in name)

    def loss(self, x, y):
        fit = nn.functional.mse_loss(self(x), y)
        return fit + self.penalty(), fit


def grid(n, g):
    x = torch.randn(n, 30, generator=g)
    y = 0.8 * x[:, 0] + 0.5 * x[:, 7] * (x[:, 1] > 0) - 0.6 * x[:, 12].abs() + 0.3 * torch.sin(2 * x[:, 20])
    y = y + 0.15 * torch.randn(n, generator=g)
    return x, (y + 0.48) / 1.05


def fit(model, data, val, epochs, lr, batch_size):
    x, y = data
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for epoch in range(epochs):
        model.train()
        objective, errors = [], []
        for idx in torch.randperm(len(x)).split(batch_size):
            loss, mse = model.loss(x[idx], y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            objective.append(loss.item())
            errors.append(mse.item())
        model.eval()
        with torch.no_grad():
            val_mse = nn.functional.mse_loss(model(val[0]), val[1]).item()
        print(f"epoch {epoch}: objective {sum(objective) / len(objective):.4f} "
              f"mse {sum(errors) / len(errors):.4f} val mse {val_mse:.4f}")


if __name__ == "__main__":
    torch.manual_seed(11)
    g = torch.Generator().manual_seed(11)
    fit(LoadModel(), grid(3000, g), grid(800, g), epochs=8, lr=4e-3, batch_size=64)
