import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class LogCosh(nn.Module):
    """Quadratic for small errors, linear for the big claims."""

    def forward(self, prediction, claim):
        return torch.log(torch.cosh(prediction - claim)).mean()


def make_claims(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 8, generator=g)               # hail size, wind, roof age ... already standardised
    base = 1.5 * torch.tanh(x[:, 0]) + 0.8 * x[:, 1] * (x[:, 2] > 0) - 0.6 * x[:, 3]
    claim = base + 0.3 * torch.randn(n, generator=g)
    big = torch.rand(n, generator=g) < 0.0015        # a handful of total losses
    claim = torch.where(big, claim + 60 + 60 * torch.rand(n, generator=g), claim)
    return x, claim


def build_model():
    return nn.Sequential(nn.Linear(8, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 1), nn.Flatten(0))


def median_error(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x) - y).abs().median().item()


def main():
    torch.manual_seed(3)
    x, y = make_claims(4000, seed=10)
    x_val, y_val = make_claims(800, seed=11)
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model, criterion = build_model(), LogCosh()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(1, 9):
        model.train()
        total = 0.0
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = criterion(model(xb), yb)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: log-cosh {total / len(loader):.4f}, median error {median_error(model, x_val, y_val):.4f}")


if __name__ == "__main__":
    main()
