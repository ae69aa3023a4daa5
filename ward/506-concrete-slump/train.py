import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, random_split


class SlumpTests(Dataset):
    """Six standardised mix ratios, one slump reading."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        x = torch.rand(n, 6, generator=g)
        y = 10 * torch.sin(torch.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] - 5 * x[:, 4]
        y = y + 0.3 * torch.randn(n, generator=g)
        self.x = (x - 0.5) / 0.2887
        self.y = (y - y.mean()) / y.std()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class SlumpNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 48)
        self.fc2 = nn.Linear(48, 48)
        self.out = nn.Linear(48, 1)
        for layer in (self.fc1, self.fc2, self.out):
            nn.init.constant_(layer.weight, 0.05)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        x = torch.tanh(self.fc1(x))
        x = torch.tanh(self.fc2(x))
        return self.out(x).squeeze(1)


torch.manual_seed(8)
train_set, val_set = random_split(SlumpTests(2200, seed=1), [1800, 400])
train_loader = DataLoader(train_set, batch_size=60, shuffle=True)
val_loader = DataLoader(val_set, batch_size=400)
model = SlumpNet()
mse = nn.MSELoss()
optim = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(14):
    model.train()
    train_loss = 0.0
    for x, y in train_loader:
        optim.zero_grad()
        loss = mse(model(x), y)
        loss.backward()
        optim.step()
        train_loss += loss.item() / len(train_loader)
    model.eval()
    with torch.no_grad():
        val_loss = sum(mse(model(x), y).item() for x, y in val_loader)
    print(f"Epoch {epoch + 1}: train MSE {train_loss:.4f}, val MSE {val_loss:.4f}")
