import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


class Residual(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c1, self.b1 = nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c)
        self.c2, self.b2 = nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c)

    def forward(self, x):
        return F.relu(x + self.b2(self.c2(F.relu(self.b1(self.c1(x))))))


class DigitResNet(nn.Module):
    """Takes camera bytes; the first layer is a batch norm, so that the serving side need not know any constants."""

    def __init__(self, c=12):
        super().__init__()
        self.entry = nn.BatchNorm2d(1)
        self.stem = nn.Sequential(nn.Conv2d(1, c, 3, padding=1, bias=False), nn.BatchNorm2d(c), nn.ReLU())
        self.body = nn.Sequential(Residual(c), nn.MaxPool2d(2), Residual(c))
        self.head = nn.Linear(4 * c, 10)

    def forward(self, x):
        x = self.body(self.stem(self.entry(x)))
        return self.head(F.adaptive_avg_pool2d(x, 2).flatten(1))


def camera_bytes():
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1)
    return (x * 255 / 16).round(), torch.tensor(d.target)


def accuracy_and_loss(net, loader):
    net.eval()
    hit = loss = n = 0
    with torch.no_grad():
        for x, y in loader:
            o = net(x)
            loss += F.cross_entropy(o, y, reduction="sum").item()
            hit += (o.argmax(1) == y).sum().item()
            n += len(y)
    return hit / n, loss / n


if __name__ == "__main__":
    torch.manual_seed(30)
    x, y = camera_bytes()
    x_tr, x_te, y_tr, y_te = train_test_split(x, y, test_size=0.25, stratify=y, random_state=3)
    train = DataLoader(TensorDataset(x_tr, y_tr), batch_size=48, shuffle=True, drop_last=True)
    test = DataLoader(TensorDataset(x_te, y_te), batch_size=225)
    net = DigitResNet()
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, nesterov=True)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, epochs=9, steps_per_epoch=len(train))
    for epoch in range(9):
        net.train()
        running = 0.0
        for xb, yb in train:
            loss = F.cross_entropy(net(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            running += loss.item() / len(train)
        acc, vloss = accuracy_and_loss(net, test)
        print(f"[{epoch + 1}/9] train loss {running:.4f}  test loss {vloss:.4f}  test acc {acc:.4f}")
