# Strength of concrete from its mix. Flat script, one small MLP.
import torch
import torch.nn as nn
from sklearn.datasets import make_friedman1
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(55)

mix, strength = make_friedman1(n_samples=2400, n_features=8, noise=1.0, random_state=55)
mix = torch.tensor(mix, dtype=torch.float32) * 2 - 1
strength = torch.tensor(strength, dtype=torch.float32).unsqueeze(1)
strength = (strength - strength[:1900].mean()) / strength[:1900].std()

train_loader = DataLoader(TensorDataset(mix[:1900], strength[:1900]), batch_size=50, shuffle=True)
test_loader = DataLoader(TensorDataset(mix[1900:], strength[1900:]), batch_size=250)

model = nn.Sequential(
    nn.Linear(8, 48), nn.ReLU(),
    nn.Linear(48, 24), nn.ReLU(),
    nn.Linear(24, 1),
)
mse = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)

for epoch in range(12):
    model.train()
    train_loss = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        pred = model(xb)
        loss = mse(pred, yb)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() / len(train_loader)
    scheduler.step()

    model.eval()
    with torch.no_grad():
        test_loss = sum(mse(model(xb), yb).item() for xb, yb in test_loader) / len(test_loader)
    print(f"epoch {epoch + 1:2d}/12  train {train_loss:.4f}  test {test_loss:.4f}")
