"""House price regression with a small MLP."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Houses(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        area = torch.rand(n, generator=g) * 150 + 40
        rooms = (area / 30 + torch.randn(n, generator=g)).round().clamp(1)
        age = torch.rand(n, generator=g) * 80
        dist = torch.rand(n, generator=g) * 25
        quality = torch.rand(n, generator=g)
        price = 2.1 * area + 12 * rooms - 0.9 * age + 120 * torch.exp(-dist / 8) + 0.8 * area * quality
        price = price + 15 * torch.randn(n, generator=g)
        x = torch.stack([area, rooms, age, dist, quality], dim=1)
        self.x = (x - torch.tensor([115.0, 3.9, 40.0, 12.5, 0.5])) / torch.tensor([43.0, 1.7, 23.0, 7.2, 0.29])
        self.y = (price - 333.0) / 135.0

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def train_epoch(model, loader, loss_fn, optimizer):
    model.train()
    total = 0.0
    for x, y in loader:
        pred = model(x)
        loss = loss_fn(pred, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def r2_score(model, loader):
    model.eval()
    pred = torch.cat([model(x) for x, _ in loader])[:, 0]
    y = loader.dataset.y
    return 1 - ((y - pred) ** 2).sum().item() / ((y - y.mean()) ** 2).sum().item()


if __name__ == "__main__":
    torch.manual_seed(0)
    train_loader = DataLoader(Houses(2400, 1), batch_size=48, shuffle=True)
    val_loader = DataLoader(Houses(600, 2), batch_size=300)
    model = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(1, 9):
        loss = train_epoch(model, train_loader, loss_fn, optimizer)
        print(f"epoch {epoch:2d}  mse {loss:.4f}  val R2 {r2_score(model, val_loader):.3f}")
