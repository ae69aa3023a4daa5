"""Digits from the old scanner as pretraining, then a linear probe on a few pictures of the new scanner."""
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 24, 3, padding=1)
        self.conv2 = nn.Conv2d(24, 32, 3, padding=1)
        self.fc = nn.Linear(32 * 4, 48)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return F.relu(self.fc(x.flatten(1)))


class ScannerNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = Backbone()
        self.digit = nn.Linear(48, 10)

    def forward(self, x):
        return self.digit(self.backbone(x))


class Probe(nn.Module):
    def __init__(self, checkpoint):
        super().__init__()
        self.encoder = Backbone()
        self.classifier = nn.Linear(48, 10)
        state = torch.load(checkpoint, weights_only=True)["model"]
        state = {k.replace("backbone.", "encoder."): v for k, v in state.items()}
        self.load_state_dict(state, strict=False)
        for p in self.encoder.parameters():
            p.requires_grad = False

    def forward(self, x):
        return self.classifier(self.encoder(x))


def pretrain(images, labels, path, epochs=16):
    net = ScannerNet()
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for epoch in range(epochs):
        total = 0.0
        for idx in torch.randperm(len(images)).split(64):
            loss = F.cross_entropy(net(images[idx]), labels[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(idx)
        if epoch % 4 == 3:
            print(f"old scanner, epoch {epoch + 1:2d} loss {total / len(images):.4f}")
    torch.save({"model": net.state_dict(), "epoch": epochs}, path)


def probe(path, x, y, vx, vy, epochs=40):
    net = Probe(path)
    opt = torch.optim.Adam(net.classifier.parameters(), lr=0.01, weight_decay=5e-3)
    for epoch in range(epochs):
        for idx in torch.randperm(len(y)).split(50):
            loss = F.cross_entropy(net(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        if epoch % 5 == 4:
            with torch.no_grad():
                out, tr = net(vx), F.cross_entropy(net(x), y)
            print(f"new scanner, epoch {epoch + 1:3d} loss {tr:.4f} val loss {F.cross_entropy(out, vy):.4f} acc {(out.argmax(1) == vy).float().mean():.3f}")


torch.manual_seed(21)
bunch = load_digits()
order = torch.randperm(len(bunch.target))
X = (torch.tensor(bunch.images, dtype=torch.float32)[:, None] / 8 - 1)[order]
Y = torch.tensor(bunch.target)[order]
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "old_scanner.pt")
    pretrain(X[:900], Y[:900], path)
    new = 0.8 * X[900:] + 0.1 + 0.25 * torch.randn(len(X) - 900, 1, 8, 8)     # greyer and grainier
    probe(path, new[:300], Y[900:1200], new[300:], Y[1200:])
