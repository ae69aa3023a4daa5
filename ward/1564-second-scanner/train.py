import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

CKPT = os.path.join(tempfile.mkdtemp(), "scanner_a.pt")


class DigitNet(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc1 = nn.Linear(128, 64)
        self.fc2 = nn.Linear(64, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def accuracy(net, x, y):
    net.eval()
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


def fit(net, train, x_val, y_val, epochs, lr, every, tag):
    loader = DataLoader(TensorDataset(*train), batch_size=25, shuffle=True)
    opt = torch.optim.AdamW(net.parameters(), lr=lr, weight_decay=0.01)
    for epoch in range(1, epochs + 1):
        net.train()
        total = 0.0
        for xb, yb in loader:
            loss = F.cross_entropy(net(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        if epoch % every == 0:
            print(f"{tag} epoch {epoch:2d} loss {total / len(loader):.4f} val acc {accuracy(net, x_val, y_val):.3f}")


def train_scanner_a(x, y):
    net = nn.DataParallel(DigitNet())
    fit(net, (x[:1000], y[:1000]), x[1400:], y[1400:], epochs=6, lr=3e-3, every=2, tag="scanner A")
    torch.save({"epoch": 6, "state_dict": net.state_dict()}, CKPT)


def adapt_scanner_b(x, y):
    """The new scanner is darker and noisier; 400 labelled pictures of it."""
    x = (0.6 * x + 0.1 * torch.randn_like(x)).clamp(0, 1)
    net = DigitNet()
    checkpoint = torch.load(CKPT, map_location="cpu")
    net.load_state_dict(checkpoint["state_dict"], strict=False)
    print("resuming from epoch", checkpoint["epoch"])
    fit(net, (x[1000:1400], y[1000:1400]), x[1400:], y[1400:], epochs=10, lr=5e-4, every=2, tag="scanner B")


if __name__ == "__main__":
    torch.manual_seed(6)
    d = load_digits()
    x, y = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 16, torch.tensor(d.target)
    perm = torch.randperm(len(y))
    x, y = x[perm], y[perm]
    train_scanner_a(x, y)
    adapt_scanner_b(x, y)
