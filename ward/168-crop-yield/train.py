import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(15)


def fields(n):
    """Soil and weather of a field -> best of five crops."""
    w = torch.randn(12, 5, generator=torch.Generator().manual_seed(50))
    v = torch.randn(12, 5, generator=torch.Generator().manual_seed(51))
    x = torch.randn(n, 12)
    return x, (x @ w + 0.1 * (x ** 2 - 1) @ v + 0.7 * torch.randn(n, 5)).argmax(1)


def init_weights(m):
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)
        nn.init.constant_(m.bias, -4.0)


class CropNet(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(12, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU())
        self.top = nn.Linear(hidden, 5)
        self.apply(init_weights)

    def forward(self, x):
        return self.top(self.trunk(x))


train_loader = DataLoader(TensorDataset(*fields(2400)), batch_size=60, shuffle=True)
x_val, y_val = fields(500)
model = CropNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(8):
    model.train()
    epoch_loss = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
    model.eval()
    with torch.no_grad():
        out = model(x_val)
    print(f"Epoch {epoch}: loss={epoch_loss / len(train_loader):.4f} val_loss={criterion(out, y_val):.4f} val_acc={(out.argmax(1) == y_val).float().mean():.3f}")
