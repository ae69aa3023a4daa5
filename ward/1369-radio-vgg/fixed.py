# modulation recognition on simulated IQ samples, 1d VGG
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

KINDS = ["bpsk", "qpsk", "fsk", "am", "noise"]


def iq(n, seed, length=64):
    g = torch.Generator().manual_seed(seed)
    kind = torch.randint(0, len(KINDS), (n,), generator=g)
    t = torch.arange(length).float()
    sym = torch.randint(0, 4, (n, length // 8), generator=g).repeat_interleave(8, 1)
    phase0 = torch.rand(n, 1, generator=g) * 2 * math.pi
    drift = (torch.rand(n, 1, generator=g) - 0.5) * 0.05 * t
    bit = (sym % 2).float()
    ph = torch.zeros(n, length)
    ph = torch.where((kind == 0)[:, None], bit * math.pi, ph)
    ph = torch.where((kind == 1)[:, None], sym * math.pi / 2, ph)
    ph = torch.where((kind == 2)[:, None], torch.cumsum((bit - 0.5) * 0.9, 1), ph)
    amp = torch.where((kind == 3)[:, None], 1 + 0.7 * torch.sin(0.35 * t + phase0), torch.ones(n, length))
    amp = torch.where((kind == 4)[:, None], torch.zeros(n, length), amp)
    ph = ph + phase0 + drift
    x = torch.stack([amp * torch.cos(ph), amp * torch.sin(ph)], 1)
    snr = 0.15 + 0.35 * torch.rand(n, 1, 1, generator=g)
    snr = torch.where((kind == 4)[:, None, None], 0.9 * torch.ones_like(snr), snr)
    return x + snr * torch.randn(n, 2, length, generator=g), kind


def conv_bn(i, o, stride=1):
    return [nn.Conv1d(i, o, 3, stride=stride, padding=1, bias=False), nn.BatchNorm1d(o), nn.ReLU(inplace=True)]


class RadioNet(nn.Module):
    """VGG style: plain 3-wide convolutions, no pooling until the end"""

    def __init__(self, width=(16, 16, 16, 24, 24, 24, 32, 32, 32, 32)):
        super().__init__()
        layers, ch = [], 2
        for k, w in enumerate(width):
            layers += conv_bn(ch, w, stride=2 if k in (0, 3, 6) else 1)
            ch = w
        self.features = nn.Sequential(*layers)
        self.fc = nn.Linear(ch, len(KINDS))

    def forward(self, x):
        return self.fc(self.features(x).mean(2))


def score(net, loader):
    net.eval()
    loss = hits = n = 0
    with torch.no_grad():
        for x, y in loader:
            out = net(x)
            loss += F.cross_entropy(out, y, reduction="sum").item()
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss / n, hits / n


def train(net, train_loader, val_loader, epochs, lr):
    opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9, weight_decay=5e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs * len(train_loader))
    print("untrained: loss %.3f acc %.3f" % score(net, val_loader))
    for epoch in range(epochs):
        net.train()
        run = []
        for x, y in train_loader:
            loss = F.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            run.append(loss.item())
        print("epoch %2d: train %.3f" % (epoch + 1, sum(run) / len(run)), "val %.3f acc %.3f" % score(net, val_loader))


torch.manual_seed(77)
train_loader = DataLoader(TensorDataset(*iq(2400, 1)), batch_size=64, shuffle=True, drop_last=True)
val_loader = DataLoader(TensorDataset(*iq(800, 2)), batch_size=200)
train(RadioNet(), train_loader, val_loader, epochs=10, lr=0.03)
