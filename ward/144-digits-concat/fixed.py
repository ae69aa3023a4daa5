import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset

torch.manual_seed(5)
bunch = load_digits()
images = torch.tensor(bunch.images, dtype=torch.float32)[:, None] / 8 - 1
target = torch.tensor(bunch.target)

# one dataset for each digit, the 40 pictures of it are kept for testing
train_parts, test_parts = [], []
for digit in range(10):
    own = images[target == digit]
    own = own[torch.randperm(len(own))]
    lab = torch.full((len(own),), digit)
    train_parts.append(TensorDataset(own[:-40], lab[:-40]))
    test_parts.append(TensorDataset(own[-40:], lab[-40:]))

train_loader = DataLoader(ConcatDataset(train_parts), batch_size=32, shuffle=True)
test_loader = DataLoader(ConcatDataset(test_parts), batch_size=200)

net = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(96, 10))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9, weight_decay=5e-4)

for epoch in range(8):
    net.train()
    for i, (x, y) in enumerate(train_loader):
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
        if i % 11 == 0:
            print(f"  epoch {epoch} batch {i:2d} loss {loss.item():.4f}")
    net.eval()
    loss_sum = hits = 0
    with torch.no_grad():
        for x, y in test_loader:
            out = net(x)
            loss_sum += criterion(out, y).item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
    print(f"epoch {epoch}: test loss {loss_sum / 400:.4f}, accuracy {hits / 400:.3f}")
