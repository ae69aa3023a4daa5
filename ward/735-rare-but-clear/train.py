import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

rng = np.random.default_rng(18)
torch.manual_seed(8)


def valves(n):
    fault = (rng.random(n) < 0.04).astype("int64")
    x = rng.normal(0, 1, (n, 12)).astype("float32")
    x[:, :4] += 2.2 * fault[:, None]
    return torch.tensor(x), torch.tensor(fault)


x, y = valves(3000)
vx, vy = valves(1500)
loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        out = model(vx)
        found = (out.argmax(1)[vy == 1] == 1).float().mean()
        print(f"epoch {epoch + 1} val {criterion(out, vy).item():.4f} acc {(out.argmax(1) == vy).float().mean().item():.3f} faults found {found.item():.3f}")
