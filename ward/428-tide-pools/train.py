import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(71)

# sizes and colours of shells -> one of six species
centres = torch.randn(6, 14) * 1.2
label = torch.randint(0, 6, (1800,))
shells = centres[label] + torch.randn(1800, 14)
train_dl = DataLoader(TensorDataset(shells[:1400], label[:1400]), batch_size=40, shuffle=True)
val_x, val_y = shells[1400:], label[1400:]

net = nn.Sequential(nn.Linear(14, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 6))
criterion = nn.CrossEntropyLoss()
optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)

total_loss = 0
seen = 0
for epoch in range(8):
    net.train()
    for x, y in train_dl:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        total_loss += loss * len(x)
        seen += len(x)
    net.eval()
    with torch.no_grad():
        out = net(val_x)
    print("epoch {}: average loss so far {:.4f}, val loss {:.4f}, val acc {:.3f}".format(
        epoch + 1, total_loss / seen, criterion(out, val_y).item(), (out.argmax(1) == val_y).float().mean().item()))
