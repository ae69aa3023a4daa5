import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(3)
np.random.seed(3)

CFG = dict(epochs=24, batch_size=64, lr=0.004, smoothing=0.2, mixup_alpha=0.4, weight_decay=1e-3)


class ConvNet(nn.Module):
    def __init__(self, classes=10, p=0.2):
        super().__init__()
        self.c1 = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.b1 = nn.BatchNorm2d(16)
        self.c2 = nn.Conv2d(16, 32, 3, padding=1, bias=False)
        self.b2 = nn.BatchNorm2d(32)
        self.drop = nn.Dropout(p)
        self.fc = nn.Linear(32 * 4, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.b1(self.c1(x))), 2)
        x = F.max_pool2d(F.relu(self.b2(self.c2(x))), 2)
        return self.fc(self.drop(x.flatten(1)))


def mixup(x, y, alpha):
    lam = float(np.random.beta(alpha, alpha))
    perm = torch.randperm(len(x))
    return lam * x + (1 - lam) * x[perm], y, y[perm], lam


def augment(x):
    dx, dy = np.random.randint(-1, 2, 2).tolist()
    return torch.roll(x, (dx, dy), (2, 3)) + 0.15 * torch.randn_like(x)


def main():
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
    images = (images - images.mean()) / images.std()
    x_tr, x_va, y_tr, y_va = train_test_split(images, torch.tensor(digits.target), test_size=0.3,
                                              stratify=digits.target, random_state=0)
    net = ConvNet()
    criterion = nn.CrossEntropyLoss(label_smoothing=CFG["smoothing"])
    opt = torch.optim.AdamW(net.parameters(), lr=CFG["lr"], weight_decay=CFG["weight_decay"])
    for epoch in range(1, CFG["epochs"] + 1):
        net.train()
        tot, cnt = 0.0, 0
        for idx in torch.randperm(len(x_tr)).split(CFG["batch_size"]):
            xb, ya, yb, lam = mixup(augment(x_tr[idx]), y_tr[idx], CFG["mixup_alpha"])
            logits = net(xb)
            loss = lam * criterion(logits, ya) + (1 - lam) * criterion(logits, yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot, cnt = tot + loss.item() * len(idx), cnt + len(idx)
        net.eval()
        with torch.no_grad():
            logits = net(x_va)
            vl, va = criterion(logits, y_va).item(), (logits.argmax(1) == y_va).float().mean().item()
        if epoch % 2 == 0:
            print(f"epoch {epoch:2d}  train loss {tot / cnt:.4f}  val loss {vl:.4f}  val acc {va:.4f}")


if __name__ == "__main__":
    main()
