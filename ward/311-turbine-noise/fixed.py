import torch
from torch import nn

torch.manual_seed(18)


class Block(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = nn.Conv1d(cin, cout, 5, stride=2, padding=2, bias=False)
        self.bn = nn.BatchNorm1d(cout)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))


class BladeNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.blocks = nn.Sequential(Block(2, 12), Block(12, 16), Block(16, 24), Block(24, 24), Block(24, 24))
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(24, classes)

    def forward(self, x):
        return self.fc(self.drop(self.blocks(x).mean(-1)))


def microphones(n):
    """two microphones, 64 samples; faults change the modulation of the blade tone"""
    label = torch.randint(0, 4, (n,))
    t = torch.arange(64.)[None]
    f = 0.10 + 0.012 * torch.randn(n, 1)
    mod = torch.tensor([0.0, 0.02, 0.035, 0.05])[label][:, None]
    phase = 6.28 * torch.rand(n, 1)
    a = torch.sin(6.28 * f * t + phase) * (1 + 0.9 * torch.sin(6.28 * mod * t) * (label > 0)[:, None])
    b = torch.sin(6.28 * (f + mod) * t + phase)
    x = torch.stack([a, b], 1)
    return x + 0.8 * torch.randn_like(x), label


def score(model, x, y):
    model.eval()
    with torch.no_grad():
        out = model(x)
    return nn.functional.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


xtr, ytr = microphones(1200)
xva, yva = microphones(400)
model = BladeNet()
opt = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 8)

print("before training: val loss %.3f acc %.3f" % score(model, xva, yva))
for epoch in range(8):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(ytr)).split(48):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(model(xtr[idx]), ytr[idx])
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    sched.step()
    vl, va = score(model, xva, yva)
    print(f"epoch {epoch}: train {total / len(ytr):.3f} val {vl:.3f} acc {va:.3f}")
