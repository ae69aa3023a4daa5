# Asking prices of second-hand bicycles. Sellers are moody: most of the spread can't be explained by the ad.
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(6)
g = torch.Generator().manual_seed(61)
MOOD = 0.8


def ads(n):
    age = torch.rand(n, generator=g) * 15
    gears = torch.randint(1, 28, (n,), generator=g).float()
    weight = 11 + 3 * torch.randn(n, generator=g)
    electric = (torch.rand(n, generator=g) < 0.25).float()
    value = 0.6 * torch.exp(-age / 5) + 0.02 * gears - 0.06 * (weight - 11) + 0.9 * electric * torch.exp(-age / 8)
    price = value + MOOD * torch.randn(n, generator=g)
    x = torch.stack([(age - 7.5) / 4.3, (gears - 14) / 7.8, (weight - 11) / 3, (electric - 0.25) / 0.43], 1)
    return x, price.unsqueeze(1)


train_set = TensorDataset(*ads(5000))
x_val, y_val = ads(2000)
loader = DataLoader(train_set, batch_size=100, shuffle=True)

model = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
mse = nn.MSELoss()

print(f"variance of the prices {y_val.var():.3f}, of the sellers' moods {MOOD ** 2:.3f}")
for epoch in range(8):
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = mse(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        val = mse(model(x_val), y_val).item()
    print(f"epoch {epoch + 1}: train mse {total / len(loader):.4f}  val mse {val:.4f}")
