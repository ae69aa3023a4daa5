import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(4)


def simulate(hours=4000, seed=4):
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    weather = np.zeros(hours)
    for i in range(1, hours):
        weather[i] = 0.99 * weather[i - 1] + rng.normal(0, 0.06)
    daily = np.sin(2 * np.pi * t / 24) + 0.5 * np.sin(4 * np.pi * t / 24 + 0.7)
    weekend = ((t // 24) % 7 >= 5).astype(float)
    demand = daily * (1 - 0.5 * weekend) - 1.2 * np.tanh(weather) + rng.normal(0, 0.05, hours)
    return np.stack([demand, weather, np.sin(2 * np.pi * t / 24), np.cos(2 * np.pi * t / 24), weekend], 1).astype("float32")


class Windows(Dataset):
    def __init__(self, table, length=24):
        self.x = torch.from_numpy(np.stack([table[i:i + length] for i in range(len(table) - length)]))
        self.y = torch.from_numpy(table[length:, 0])

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class DemandRNN(nn.Module):
    def __init__(self, features=5, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(features, hidden, num_layers=2, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[:, -1]).squeeze(-1)


table = simulate()
mean, std = table[:3200].mean(0), table[:3200].std(0)
table = (table - mean) / std
train_loader = DataLoader(Windows(table[:3200]), batch_size=64, shuffle=True)
val_loader = DataLoader(Windows(table[3200:]), batch_size=256)

model = DemandRNN()
criterion = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

for epoch in range(12):
    model.train()
    train_loss = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() * len(y)
    model.eval()
    val_loss = 0.0
    with torch.no_grad():
        for x, y in val_loader:
            val_loss += criterion(model(x), y).item() * len(y)
    print(f"Epoch {epoch + 1:02d}: train MSE {train_loss / len(train_loader.dataset):.4f}, val MSE {val_loss / len(val_loader.dataset):.4f}")
