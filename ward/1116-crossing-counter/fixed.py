"""Pedestrian counts per tile, mixed precision. Falls back to CPU autocast when there is no GPU."""
import torch
import torch.nn as nn
from sklearn.datasets import make_friedman1
from torch.utils.data import DataLoader, TensorDataset

device = "cuda" if torch.cuda.is_available() else "cpu"
USE_AMP, MAX_NORM, EPOCHS = True, 5.0, 8


def load():
    X, y = make_friedman1(n_samples=3000, n_features=10, noise=0.5, random_state=3)
    X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)
    y = torch.tensor((y - y.mean()) / y.std(), dtype=torch.float32).unsqueeze(1)
    return TensorDataset(X[:2500], y[:2500]), TensorDataset(X[2500:], y[2500:])


class Counter(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.stem = nn.Linear(10, width)
        self.blocks = nn.ModuleList([nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.GELU()) for _ in range(2)])
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        x = torch.relu(self.stem(x))
        for block in self.blocks:
            x = x + block(x)
        return self.head(x)


def train_epoch(model, loader, optimizer, scaler, criterion):
    model.train()
    total = 0.0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.float16, enabled=USE_AMP):
            pred = model(x)
            loss = criterion(pred.float(), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        scaler.step(optimizer)
        scaler.update()
        total += loss.item() * len(y)
    return total / len(loader.dataset)


@torch.no_grad()
def test(model, loader, criterion):
    model.eval()
    return sum(criterion(model(x.to(device)), y.to(device)).item() * len(y) for x, y in loader) / len(loader.dataset)


torch.manual_seed(3)
train_set, test_set = load()
train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
test_loader = DataLoader(test_set, batch_size=250)
model = Counter().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
scaler = torch.amp.GradScaler(device, enabled=USE_AMP)
criterion = nn.MSELoss()
for epoch in range(1, EPOCHS + 1):
    tr = train_epoch(model, train_loader, optimizer, scaler, criterion)
    te = test(model, test_loader, criterion)
    print(f"epoch {epoch}: train {tr:.4f} test {te:.4f} scale {scaler.get_scale():.0f}")
