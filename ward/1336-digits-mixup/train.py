import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(3)
np.random.seed(3)
d = load_digits()
perm = np.random.permutation(len(d.target))
X = torch.tensor(d.images[perm] / 16.0, dtype=torch.float32).unsqueeze(1)
X = (X - 0.305) / 0.376
Y = torch.tensor(d.target[perm])
x_train, y_train, x_val, y_val = X[:1300], Y[:1300], X[1300:], Y[1300:]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 24, 3, padding=1)
        self.c2 = nn.Conv2d(24, 48, 3, padding=1)
        self.drop2d = nn.Dropout2d(0.1)
        self.drop = nn.Dropout(0.4)
        self.f1 = nn.Linear(48 * 4, 96)
        self.f2 = nn.Linear(96, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = self.drop2d(F.max_pool2d(F.relu(self.c2(x)), 2))
        x = self.drop(F.relu(self.f1(x.flatten(1))))
        return self.f2(x)


def augment(x):
    # rotate and shift a little, then cut out a 2x2 hole
    n = len(x)
    theta = torch.zeros(n, 2, 3)
    a = 0.2 * torch.randn(n)
    theta[:, 0, 0], theta[:, 0, 1], theta[:, 1, 0], theta[:, 1, 1] = a.cos(), -a.sin(), a.sin(), a.cos()
    theta[:, :, 2] = (torch.rand(n, 2) - 0.5) * 0.4
    x = F.grid_sample(x + 0.8, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False) - 0.8
    i, j = np.random.randint(0, 7, 2)
    x[:, :, i:i + 2, j:j + 2] = 0
    return x


def mixup(x, y, alpha=0.4):
    lam = float(np.random.beta(alpha, alpha))
    other = torch.randperm(len(x))
    y = F.one_hot(y, 10).float()
    return lam * x + (1 - lam) * x[other], lam * y + (1 - lam) * y[other]


net = Net()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-2)
history = {"loss": [], "val_loss": [], "val_acc": []}
for epoch in range(36):
    net.train()
    losses = []
    for b in torch.randperm(len(x_train)).split(50):
        x, y = mixup(augment(x_train[b]), y_train[b])
        loss = F.cross_entropy(net(x), y, label_smoothing=0.05)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        out = net(x_val)
    history["loss"].append(np.mean(losses))
    history["val_loss"].append(F.cross_entropy(out, y_val).item())
    history["val_acc"].append((out.argmax(1) == y_val).float().mean().item())
    if (epoch + 1) % 4 == 0:
        print(f"epoch {epoch + 1}", {k: round(float(v[-1]), 4) for k, v in history.items()})
