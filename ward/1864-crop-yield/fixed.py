"""Crop yield per field from soil, weather and treatment data."""
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

BATCH_SIZE = 32
LR = 0.01
EPOCHS = 12


def survey(n, rng):
    """Standardised survey table; harvests vary a lot between fields that look the same on paper."""
    ph = rng.normal(6.4, 0.6, n)
    nitrogen = rng.gamma(6, 20, n)
    rain = rng.normal(480, 90, n)
    temp = rng.normal(16, 2, n)
    clay = rng.uniform(5, 45, n)
    slope = rng.exponential(3, n)
    irrigated = (rng.random(n) < 0.35).astype(float)
    water = rain + 150 * irrigated
    yield_t = (6.5 - 1.4 * (ph - 6.5) ** 2 + 2.2 * np.tanh(nitrogen / 100) - 3e-5 * (water - 560) ** 2
               - 0.12 * (temp - 17) ** 2 - 0.05 * slope + 0.01 * clay + rng.normal(0, 0.8, n))
    table = np.stack([ph, nitrogen, rain, temp, clay, slope, irrigated], 1)
    return table, yield_t[:, None]


def standardise(a, mean, std):
    return torch.tensor((a - mean) / std, dtype=torch.float32)


def get_loaders():
    rng = np.random.default_rng(2)
    x, y = survey(1900, rng)
    x_tr, y_tr, x_va, y_va = x[:1400], y[:1400], x[1400:], y[1400:]
    xs, ys = (x_tr.mean(0), x_tr.std(0)), (y_tr.mean(0), y_tr.std(0))
    train = TensorDataset(standardise(x_tr, *xs), standardise(y_tr, *ys))
    val = TensorDataset(standardise(x_va, *xs), standardise(y_va, *ys))
    return DataLoader(train, batch_size=BATCH_SIZE, shuffle=True), DataLoader(val, batch_size=250)


class YieldNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden1 = nn.Linear(7, 32)
        self.hidden2 = nn.Linear(32, 16)
        self.output = nn.Linear(16, 1)

    def forward(self, x):
        x = torch.tanh(self.hidden1(x))
        x = torch.tanh(self.hidden2(x))
        return self.output(x)


def main():
    torch.manual_seed(2)
    train_loader, val_loader = get_loaders()
    net = YieldNet()
    criterion = nn.MSELoss()
    optimizer = optim.Adam(net.parameters(), lr=LR)
    for epoch in range(EPOCHS):
        net.train()
        running_loss = 0.0
        for inputs, targets in train_loader:
            optimizer.zero_grad()
            loss = criterion(net(inputs), targets)
            loss.backward()
            optimizer.step()
            running_loss += loss.item()
        net.eval()
        with torch.no_grad():
            val_loss = sum(criterion(net(a), b).item() for a, b in val_loader) / len(val_loader)
        print("epoch %d, train loss %.4f, val loss %.4f, R2 %.3f" % (
            epoch + 1, running_loss / len(train_loader), val_loss, 1 - val_loss))


if __name__ == "__main__":
    main()
