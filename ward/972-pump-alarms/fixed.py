import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)
N = 2000
sensors = torch.randn(N, 12)
alarm = ((sensors[:, 0] + 0.8 * sensors[:, 4] + 1.0 * torch.randn(N)) > 0).float().unsqueeze(1)
train_loader = DataLoader(TensorDataset(sensors[:1600], alarm[:1600]), batch_size=64, shuffle=True)
val_x, val_y = sensors[1600:], alarm[1600:]

model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        out = model(val_x)
        val = criterion(out, val_y).item()
        acc = ((out > 0).float() == val_y).float().mean().item()
    print(f"epoch {epoch + 1} loss {loss.item():.3f} val {val:.3f} acc {acc:.3f}")
