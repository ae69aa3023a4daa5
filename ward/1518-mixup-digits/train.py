import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(33)
d = load_digits()
X, X_val, y, y_val = train_test_split(torch.tensor(d.images, dtype=torch.float32)[:, None] / 16, torch.tensor(d.target),
                                      test_size=0.25, stratify=d.target, random_state=33)
mean, std = X.mean(), X.std()
X, X_val = (X - mean) / std, (X_val - mean) / std


def augment(x):
    """Shift by one pixel, blank out a patch, add noise."""
    dy, dx = torch.randint(-1, 2, (2,)).tolist()
    x = torch.roll(x, (dy, dx), dims=(2, 3))
    top, left = torch.randint(0, 6, (2,)).tolist()
    x = x.clone()
    x[:, :, top:top + 3, left:left + 3] = 0.0
    return x + 0.2 * torch.randn_like(x)


def mixup(x, t, alpha=0.2):
    lam = torch.distributions.Beta(alpha, alpha).sample().item()
    lam, other = max(lam, 1 - lam), torch.randperm(len(t))
    return lam * x + (1 - lam) * x[other], t, t[other], lam


net = nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(24, 48, 3, padding=1), nn.BatchNorm2d(48), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Flatten(), nn.Dropout(0.25), nn.Linear(192, 10))
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
EPOCHS, BATCH = 14, 48
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, nesterov=True, weight_decay=5e-4)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.05, total_steps=EPOCHS * (len(y) // BATCH))
for epoch in range(1, EPOCHS + 1):
    net.train()
    total = right = 0.0
    for b in torch.randperm(len(y))[:len(y) // BATCH * BATCH].split(BATCH):
        x, t1, t2, lam = mixup(augment(X[b]), y[b])
        out = net(x)
        loss = lam * criterion(out, t1) + (1 - lam) * criterion(out, t2)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        total += loss.item()
        right += (out.argmax(1) == t1).sum().item()
    net.eval()
    with torch.no_grad():
        out = net(X_val)
    steps = len(y) // BATCH
    print(f"epoch {epoch:2d} train loss {total / steps:.3f} acc {right / (steps * BATCH):.3f} | "
          f"val loss {F.cross_entropy(out, y_val).item():.3f} acc {(out.argmax(1) == y_val).float().mean().item():.3f}")
