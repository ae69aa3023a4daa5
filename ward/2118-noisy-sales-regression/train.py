"""Weekly sales against promotion, price and season. Most of the spread is chance: R2 of about 0.3 is all there is."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(42)
torch.manual_seed(42)
N = 12000
price = rng.uniform(2, 6, N)
promo = rng.random(N) < 0.3
week = rng.integers(0, 52, N)
stores = rng.normal(0, 1, (N, 4))
expected = 60 - 6 * (price - 4) + 14 * promo * (price < 4.5) + 8 * np.sin(2 * np.pi * week / 52) + stores @ [3, -2, 1, 0]
NOISE = 20.0
sales = expected + rng.normal(0, NOISE, N)

features = np.column_stack([price, promo, np.sin(2 * np.pi * week / 52), np.cos(2 * np.pi * week / 52), stores])
tr, va = slice(0, 9600), slice(9600, N)
mu, sd = features[tr].mean(0), features[tr].std(0)
features = torch.tensor((features - mu) / sd, dtype=torch.float32)
target = torch.tensor((sales - sales[tr].mean()) / sales[tr].std(), dtype=torch.float32)
floor = (NOISE / sales[tr].std()) ** 2

loader = DataLoader(TensorDataset(features[tr], target[tr]), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(8, 24), nn.GELU(), nn.Linear(24, 12), nn.GELU(), nn.Linear(12, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=15)
criterion = nn.MSELoss()
for epoch in range(15):
    model.train()
    total = 0.0
    for x, y in loader:
        loss = criterion(model(x).squeeze(1), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / len(loader)
    scheduler.step()
    model.eval()
    with torch.no_grad():
        val = criterion(model(features[va]).squeeze(1), target[va]).item()
    print(f"epoch {epoch + 1:2d} train {total:.4f} val {val:.4f} (noise floor {floor:.4f})")
