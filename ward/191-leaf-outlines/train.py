import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split


def leaves(n):
    """Masks of leaves: the outline has 3, 4, 5 or 6 lobes."""
    species = torch.randint(0, 4, (n,))
    axis = torch.linspace(-1, 1, 16)
    yy, xx = torch.meshgrid(axis, axis, indexing="ij")
    angle, radius = torch.atan2(yy, xx), torch.hypot(xx, yy)
    turn = 0.4 * torch.randn(n, 1, 1)
    edge = 0.6 + 0.25 * torch.cos((species + 3)[:, None, None] * (angle + turn))
    mask = torch.sigmoid((edge - radius) / 0.05)
    return ((mask - 0.35) / 0.45 + 0.3 * torch.randn(n, 16, 16)).unsqueeze(1), species


class LeafNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.norm1 = nn.GroupNorm(3, 12)
        self.conv2 = nn.Conv2d(12, 16, 3, padding=1)
        self.norm2 = nn.GroupNorm(4, 16)
        self.dropout = nn.Dropout(0.2)
        self.fc = nn.Linear(16 * 16, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        return self.fc(self.dropout(x.flatten(1)))


torch.manual_seed(33)
train_set, val_set = random_split(TensorDataset(*leaves(2200)), [1800, 400])
train_loader = DataLoader(train_set, batch_size=40, shuffle=True)
val_loader = DataLoader(val_set, batch_size=200)

model = LeafNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
criterion = nn.CrossEntropyLoss()

for epoch in range(4):
    model.train()
    running_loss = 0.0
    for i, (inputs, labels) in enumerate(train_loader):
        outputs = model(inputs)
        loss = criterion(outputs, labels)
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
        running_loss += loss.item()
        if i % 15 == 14:
            print(f"[{epoch + 1}, {i + 1:3d}] loss: {running_loss / 15:.3f}")
            running_loss = 0.0
    model.eval()
    correct = total = 0
    with torch.no_grad():
        for inputs, labels in val_loader:
            correct += (model(inputs).argmax(1) == labels).sum().item()
            total += len(labels)
    print(f"validation accuracy: {correct / total:.3f}")
