"""Six synthetic bird calls (sweeps, trills, whistles) in noise -> 1-D CNN."""
import math

import torch
from torch import nn

torch.manual_seed(21)
SR, LEN = 400, 200


def calls(n):
    t = torch.arange(LEN) / SR
    y = torch.randint(0, 6, (n,))
    f0 = 35 + 30 * torch.rand(n, 1)
    ph = 2 * math.pi * torch.rand(n, 1)
    k = y[:, None]
    sweep = torch.where(k == 0, 60.0, torch.where(k == 1, -60.0, 0.0))
    vib = torch.where(k == 2, 6.0, 0.0)
    phase = 2 * math.pi * (f0 * t + 0.5 * sweep * t ** 2) + vib * torch.sin(2 * math.pi * 12 * t) / 2 + ph
    wave = torch.sin(phase)
    wave = wave * torch.where(k == 3, (torch.sin(2 * math.pi * 10 * t + ph) > 0).float(), torch.ones(1))
    wave = wave + torch.where(k == 4, torch.sin(2 * phase), torch.zeros(1))
    wave = wave * torch.where(k == 5, torch.exp(-7 * t), torch.ones(1))
    wave = wave + 0.7 * torch.randn(n, LEN)
    return (wave / wave.std(1, keepdim=True)).unsqueeze(1), y


class CallNet(nn.Module):
    def __init__(self, drop=0.3):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 24, 11, padding=5), nn.BatchNorm1d(24), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(24, 32, 9, padding=4), nn.BatchNorm1d(32), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(32, 48, 7, padding=3), nn.BatchNorm1d(48), nn.ReLU(), nn.AdaptiveMaxPool1d(4), nn.Flatten())
        self.classifier = nn.Sequential(
            nn.Dropout(drop), nn.Linear(192, 64), nn.ReLU(),
            nn.Dropout(drop), nn.Linear(64, 32), nn.ReLU(),
            nn.Dropout(drop), nn.Linear(32, 6))

    def forward(self, x):
        return self.classifier(self.features(x))


xtr, ytr = calls(5000)
xva, yva = calls(1000)
net = CallNet()
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4, nesterov=True)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 12)
ce = nn.CrossEntropyLoss()
for ep in range(1, 13):
    net.train()
    s = c = 0
    for b in torch.randperm(len(ytr)).split(64):
        o = net(xtr[b])
        l = ce(o, ytr[b])
        opt.zero_grad()
        l.backward()
        opt.step()
        s += l.item() * len(b)
        c += (o.argmax(1) == ytr[b]).sum().item()
    sched.step()
    net.eval()
    with torch.no_grad():
        o = net(xva)
        print(f"{ep:2d} train loss {s / len(ytr):.3f} acc {c / len(ytr):.3f}  |  val loss {ce(o, yva):.3f} acc {(o.argmax(1) == yva).float().mean():.3f}")
