import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class ResidualBlock(nn.Module):
    def __init__(self, ch):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(ch)
        self.norm2 = nn.BatchNorm2d(ch)
        self.conv1 = nn.Conv2d(ch, ch, 3, padding=1)
        self.conv2 = nn.Conv2d(ch, ch, 3, padding=1)

    def forward(self, x):
        return x + self.conv2(F.relu(self.norm2(self.conv1(F.relu(self.norm1(x))))))


class DigitResNet(nn.Module):
    def __init__(self, ch=16, blocks=12, classes=10):
        super().__init__()
        self.stem = nn.Conv2d(1, ch, 3, padding=1)
        self.blocks = nn.Sequential(*[ResidualBlock(ch) for _ in range(blocks)])
        self.fc = nn.Linear(ch * 16, classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
                nn.init.zeros_(m.bias)

    def forward(self, x):
        x = self.blocks(self.stem(x))
        return self.fc(F.max_pool2d(F.relu(x), 2).flatten(1))


def run_epoch(net, loader, opt=None):
    net.train(opt is not None)
    loss_sum = hits = n = 0
    with torch.set_grad_enabled(opt is not None):
        for x, y in loader:
            out = net(x)
            loss = F.cross_entropy(out, y)
            if opt is not None:
                opt.zero_grad()
                loss.backward()
                opt.step()
            loss_sum += loss.item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss_sum / n, hits / n


def main():
    torch.manual_seed(2)
    data = load_digits()
    x = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 8 - 1
    y = torch.tensor(data.target)
    order = torch.randperm(len(y))
    x, y = x[order], y[order]
    train = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=50, shuffle=True)
    val = DataLoader(TensorDataset(x[1400:], y[1400:]), batch_size=397)
    net = DigitResNet()
    opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
    for epoch in range(1, 8):
        loss, acc = run_epoch(net, train, opt)
        vloss, vacc = run_epoch(net, val)
        print(f"epoch {epoch} train loss {loss:.4f} acc {acc:.3f} | val loss {vloss:.4f} acc {vacc:.3f}")


if __name__ == "__main__":
    main()
