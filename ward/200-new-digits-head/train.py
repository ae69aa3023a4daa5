# stage 1: backbone on digits 0-5.  stage 2: new head for digits 6-9, backbone frozen.
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(1)
X, y = load_digits(return_X_y=True)
X = torch.tensor(X, dtype=torch.float32).view(-1, 1, 8, 8) / 16
y = torch.tensor(y)
old = y < 6
Xa, ya = X[old], y[old]
Xb, yb = X[~old], y[~old] - 6

backbone = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2),
)


def train_backbone(epochs=4):
    net = nn.Sequential(backbone, nn.Linear(512, 6))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    net.train()
    for ep in range(epochs):
        tot = 0.0
        for idx in torch.randperm(len(ya)).split(64):
            loss = F.cross_entropy(net(Xa[idx]), ya[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(idx)
        print(f"[pretrain] epoch {ep} loss {tot / len(ya):.4f}")


def finetune(epochs=17):
    for p in backbone.parameters():
        p.requires_grad = False
    backbone.eval()
    head = nn.Linear(512, 4)
    opt = torch.optim.SGD(head.parameters(), lr=0.05, momentum=0.9)
    perm = torch.randperm(len(yb))
    tr, va = perm[:500], perm[500:]
    for ep in range(epochs):
        head.train()
        tot = 0.0
        for idx in tr[torch.randperm(len(tr))].split(50):
            loss = F.cross_entropy(head(backbone(Xb[idx])), yb[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() * len(idx)
        head.eval()
        with torch.no_grad():
            out = head(backbone(Xb[va]))
            vl, acc = F.cross_entropy(out, yb[va]), (out.argmax(1) == yb[va]).float().mean()
        if ep % 4 == 0:
            print(f"[finetune] epoch {ep:2d} loss {tot / len(tr):.4f} val {vl:.4f} acc {acc:.3f}")


train_backbone()
finetune()
