"""Log price of used cars from numbers (age, mileage, power) and two categories (model line, region)."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

LINES, REGIONS = 30, 12


def listings(n, seed):
    g = torch.Generator().manual_seed(seed)
    line_value = torch.randn(LINES, generator=torch.Generator().manual_seed(100))
    region_value = 0.5 * torch.randn(REGIONS, generator=torch.Generator().manual_seed(101))
    line = torch.randint(0, LINES, (n,), generator=g)
    region = torch.randint(0, REGIONS, (n,), generator=g)
    numbers = torch.randn(n, 3, generator=g)
    price = (-0.7 * numbers[:, 0] - 0.4 * numbers[:, 1] + 0.3 * numbers[:, 2] + 0.2 * numbers[:, 0] * numbers[:, 1]
             + line_value[line] + region_value[region] + 0.15 * torch.randn(n, generator=g))
    return TensorDataset(numbers, torch.stack([line, region], 1), price)


class PriceModel(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.line = nn.Embedding(LINES, 8)
        self.region = nn.Embedding(REGIONS, 8)
        self.from_categories = nn.Linear(16, hidden)
        self.from_numbers = nn.Linear(3, hidden)
        self.mix = nn.Sequential(nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, numbers, categories):
        cat = torch.cat([self.line(categories[:, 0]), self.region(categories[:, 1])], dim=1)
        cat = self.from_categories(cat)
        num = self.from_numbers(numbers)
        return self.mix(num).squeeze(1)


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    total, n = 0.0, 0
    with torch.set_grad_enabled(optimizer is not None):
        for numbers, categories, price in loader:
            loss = criterion(model(numbers, categories), price)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(price)
            n += len(price)
    return total / n


def main():
    torch.manual_seed(23)
    train_dl = DataLoader(listings(4000, 1), batch_size=80, shuffle=True)
    val_dl = DataLoader(listings(1000, 2), batch_size=500)
    model = PriceModel()
    print("parameters:", sum(p.numel() for p in model.parameters()))
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=9)
    criterion = nn.MSELoss()
    for epoch in range(9):
        train_loss = run_epoch(model, train_dl, criterion, optimizer)
        val_loss = run_epoch(model, val_dl, criterion)
        scheduler.step()
        print(f"epoch {epoch} train {train_loss:.4f} val {val_loss:.4f}")


if __name__ == "__main__":
    main()
