import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class EarlyStop:
    def __init__(self, patience):
        self.patience, self.best, self.waited = patience, None, 0

    def step(self, value):
        if self.best is None or value > self.best:
            self.best, self.waited = value, 0
        else:
            self.waited += 1
        return self.waited > self.patience


def make_nights(n):
    sky = torch.rand(n, 1)
    wind = torch.rand(n, 1) * 8
    humidity = torch.randn(n, 1)
    extra = torch.randn(n, 4)
    chill = 2.5 * (1 - sky) - 0.25 * wind + 0.4 * humidity + 0.9 * torch.randn(n, 1)
    return TensorDataset(torch.cat([sky * 2 - 1, wind / 4 - 1, humidity, extra], 1), (chill > 0.3).float())


torch.manual_seed(31)
nights = make_nights(1500)
train_set, val_set = random_split(nights, [len(nights) - 350, 350])
train_loader = DataLoader(train_set, batch_size=42, shuffle=True)
val_loader = DataLoader(val_set, batch_size=100)
net = nn.Sequential(nn.Linear(7, 24), nn.Tanh(), nn.Linear(24, 1))
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
stop = EarlyStop(patience=12)

for epoch in range(40):
    net.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        optimizer.step()
    net.eval()
    losses, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in val_loader:
            out = net(x)
            losses += criterion(out, y).item() * len(y)
            right += ((out > 0).float() == y).sum().item()
            count += len(y)
    print(f"epoch {epoch} val {losses / count:.3f} acc {right / count:.3f}")
    if stop.step(right / count):
        print("stopped")
        break
