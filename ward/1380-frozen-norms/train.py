"""Adapt a pretrained digits body to a new alphabet of upside-down, noisy digits; norm layers stay as they were pretrained."""
import io

import torch
from torch import nn
from torch.nn import functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset, random_split


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.head = nn.Linear(128, classes)

    def forward(self, x):
        return self.head(self.body(x))


def freeze_norms(net):
    for m in net.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.eval()
            m.requires_grad_(False)


def check(net, loader):
    net.eval()
    with torch.no_grad():
        parts = [(net(x), y) for x, y in loader]
    out, y = torch.cat([a for a, _ in parts]), torch.cat([b for _, b in parts])
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


torch.manual_seed(33)
d = load_digits()
imgs = torch.tensor(d.images, dtype=torch.float32)[:, None] / 8 - 1
labels = torch.tensor(d.target)
order = torch.randperm(len(labels))
imgs, labels = imgs[order], labels[order]

# pretraining: even or odd, small or large (4 classes)
old = (labels % 2) * 2 + (labels >= 5)
net = Net(4)
opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
for epoch in range(6):
    net.train()
    for idx in torch.randperm(800).split(50):
        opt.zero_grad()
        F.cross_entropy(net(imgs[idx]), old[idx]).backward()
        opt.step()
buffer = io.BytesIO()
torch.save({k: v for k, v in net.state_dict().items() if k.startswith("body.")}, buffer)
buffer.seek(0)

# the new task, all ten digits
fresh = imgs[800:].flip(2) + 0.15 * torch.randn(len(imgs) - 800, 1, 8, 8)
train, val = random_split(TensorDataset(fresh, labels[800:]), [747, 250])
train_dl, val_dl = DataLoader(train, 16, shuffle=True), DataLoader(val, 125)
net = Net(10)
missing = net.load_state_dict(torch.load(buffer), strict=False)
print("not in the checkpoint:", missing.missing_keys)

ACC = 4
opt = torch.optim.AdamW([{"params": [p for n, p in net.body.named_parameters()], "lr": 1e-3},
                         {"params": net.head.parameters(), "lr": 4e-3}], weight_decay=0.02)
for epoch in range(14):
    net.train()
    freeze_norms(net)
    total = 0.0
    for i, (x, y) in enumerate(train_dl):
        loss = F.cross_entropy(net(x), y)
        (loss / ACC).backward()
        total += loss.item() / len(train_dl)
        if (i + 1) % ACC == 0 or i + 1 == len(train_dl):
            opt.step()
            opt.zero_grad()
    vl, acc = check(net, val_dl)
    print(f"epoch {epoch + 1:2d} train {total:.4f} val {vl:.4f} acc {acc:.3f}")
