"""Self-supervised features by rotation prediction; then the backbone is frozen and a small head reads it."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Backbone(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.n_out = width * 16

    def forward(self, x):
        return self.net(x)


def rotate(x):
    k = torch.randint(0, 4, (len(x),))
    return torch.stack([torch.rot90(img, int(r), (1, 2)) for img, r in zip(x, k)]), k


def pretext(backbone, x, epochs=9):
    model = nn.Sequential(backbone, nn.Dropout(0.3), nn.Linear(backbone.n_out, 4))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for epoch in range(epochs):
        total, n = 0.0, 0
        for rows in torch.randperm(len(x)).split(32):
            xb, kb = rotate(x[rows])
            loss = F.cross_entropy(model(xb), kb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total, n = total + loss.item(), n + 1
        sched.step()
        print(f"pretext {epoch + 1}: loss {total / n:.4f}")


def probe(backbone, train, val, epochs=20):
    backbone.requires_grad_(False)
    backbone.eval()                       # batch-norm statistics stay as they are
    head = nn.Sequential(nn.Dropout(0.3), nn.Linear(backbone.n_out, 10))
    opt = torch.optim.AdamW(head.parameters(), lr=1e-3, weight_decay=5e-2)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for epoch in range(epochs):
        head.train()
        total, n = 0.0, 0
        for rows in torch.randperm(len(train[1])).split(32):
            loss = F.cross_entropy(head(backbone(train[0][rows])), train[1][rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total, n = total + loss.item(), n + 1
        sched.step()
        head.eval()
        with torch.no_grad():
            out = head(backbone(val[0]))
        print(f"head {epoch + 1:2d}: loss {total / n:.4f}  val {F.cross_entropy(out, val[1]).item():.4f}  acc {(out.argmax(1) == val[1]).float().mean().item():.3f}")


torch.manual_seed(41)
d = load_digits()
x, y = torch.tensor(d.images, dtype=torch.float32)[:, None] / 8 - 1, torch.tensor(d.target)
order = torch.randperm(len(y))
train, val = (x[order[:1350]], y[order[:1350]]), (x[order[1350:]], y[order[1350:]])
backbone = Backbone()
pretext(backbone, train[0])
probe(backbone, train, val)
