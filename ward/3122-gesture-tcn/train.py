import math
from types import SimpleNamespace

import torch
import torch.nn as nn

hp = SimpleNamespace(classes=8, length=64, channels=3, width=24, batch=64, epochs=10, max_lr=4e-3, smoothing=0.15, seed=31)
torch.manual_seed(hp.seed)


def gestures(n):
    """Accelerometer traces: each gesture is a fixed pattern of three axes, warped in time, scaled and rotated a little."""
    g = torch.Generator().manual_seed(123)
    freq = torch.randint(1, 5, (hp.classes, hp.channels, 3), generator=g).float()
    amp, ph = torch.randn(hp.classes, hp.channels, 3, generator=g), 6.28 * torch.rand(hp.classes, hp.channels, 3, generator=g)
    y = torch.randint(0, hp.classes, (n,))
    t = torch.linspace(0, 1, hp.length).repeat(n, 1)
    t = t + 0.05 * torch.randn(n, 1) * torch.sin(math.pi * t) + 0.03 * torch.randn(n, 1)
    wave = (amp[y][..., None] * torch.sin(2 * math.pi * freq[y][..., None] * t[:, None, None] + ph[y][..., None])).sum(2)
    wave = wave * (1 + 0.2 * torch.randn(n, 1, 1)) + 1.4 * torch.randn_like(wave)
    return wave / 2.2, y


class TemporalBlock(nn.Module):
    def __init__(self, i, o, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.c1, self.c2 = nn.Conv1d(i, o, 3, dilation=dilation), nn.Conv1d(o, o, 3, dilation=dilation)
        self.n1, self.n2 = nn.BatchNorm1d(o), nn.BatchNorm1d(o)
        self.skip = nn.Conv1d(i, o, 1) if i != o else nn.Identity()

    def forward(self, x):
        h = self.n1(self.c1(nn.functional.pad(x, (self.pad, 0)))).relu()
        h = self.n2(self.c2(nn.functional.pad(h, (self.pad, 0)))).relu()
        return (h + self.skip(x)).relu()


class TCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(TemporalBlock(hp.channels, hp.width, 1), TemporalBlock(hp.width, hp.width, 2), TemporalBlock(hp.width, hp.width, 4))
        self.fc = nn.Linear(hp.width, hp.classes)

    def forward(self, x):
        return self.fc(self.blocks(x).mean(-1))


train_x, train_y = gestures(3000)
valid_x, valid_y = gestures(1000)
model = TCN()
loss_fn = nn.CrossEntropyLoss(label_smoothing=hp.smoothing)
opt = torch.optim.AdamW(model.parameters(), lr=hp.max_lr, weight_decay=0.01)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, hp.max_lr, epochs=hp.epochs, steps_per_epoch=-(-len(train_y) // hp.batch))
for epoch in range(hp.epochs):
    model.train()
    losses = []
    for ids in torch.randperm(len(train_y)).split(hp.batch):
        loss = loss_fn(model(train_x[ids]), train_y[ids])
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        losses.append(loss.item())
    model.eval()
    with torch.inference_mode():
        out = model(valid_x)
        print({"epoch": epoch, "train_loss": round(sum(losses) / len(losses), 4), "valid_loss": round(loss_fn(out, valid_y).item(), 4),
               "valid_acc": round((out.argmax(1) == valid_y).float().mean().item(), 4)})
