import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
CLASSES = 6


def radar(n):
    """Echoes in sectors of a disc: the class depends on angle and distance band."""
    angle = torch.rand(n) * 6.2832
    dist = torch.rand(n).sqrt() * 2
    sector = (angle / 6.2832 * CLASSES).long()
    band = (dist > 1.3).long() * 2
    return torch.stack([dist * torch.cos(angle), dist * torch.sin(angle)], dim=1), (sector + band) % CLASSES


class Net(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.fc1 = nn.Linear(2, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, CLASSES)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


train_loader = DataLoader(TensorDataset(*radar(2000)), batch_size=50, shuffle=True)
val_x, val_y = radar(500)
net = Net(hidden=64)
optimizer = torch.optim.Adam(net.parameters(), lr=0.006)
criterion = nn.CrossEntropyLoss()
for epoch in range(10):
    net.train()
    epoch_loss = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() / len(train_loader)
    net.eval()
    with torch.no_grad():
        out = net(val_x)
    print(f"epoch {epoch}: train {epoch_loss:.4f}  val {criterion(out, val_y):.4f}  acc {(out.argmax(1) == val_y).float().mean():.3f}")
