"""SimCLR-style pre-training on digits, then a nearest-neighbour check of the features."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

torch.manual_seed(44)
TAU, BATCH, EPOCHS = 0.3, 100, 25


def views(x):
    """Random small rotation, scale and shift plus pixel noise."""
    n = len(x)
    a = (torch.rand(n) - 0.5) * 0.6
    k = 1 + (torch.rand(n) - 0.5) * 0.3
    shift = (torch.rand(n, 2) - 0.5) * 0.35
    theta = torch.zeros(n, 2, 3)
    theta[:, 0, 0], theta[:, 0, 1] = k * a.cos(), -k * a.sin()
    theta[:, 1, 0], theta[:, 1, 1] = k * a.sin(), k * a.cos()
    theta[:, :, 2] = shift
    grid = F.affine_grid(theta, x.shape, align_corners=False)
    return F.grid_sample(x, grid, align_corners=False) + 0.05 * torch.randn_like(x)


class Encoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                                   nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(),
                                   nn.Linear(512, 64))
        self.projector = nn.Sequential(nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x):
        return self.projector(self.trunk(x))


def nt_xent(z1, z2):
    n = len(z1)
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    sim = z @ z.t() / TAU
    sim = sim.masked_fill(torch.eye(2 * n, dtype=torch.bool), float("-inf"))
    partner = torch.cat([torch.arange(n, 2 * n), torch.arange(n)])
    return F.cross_entropy(sim, partner)


d = load_digits()
X = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16
order = torch.randperm(len(X))
train_x, test_x = X[order[:1400]], X[order[1400:]]
train_y, test_y = d.target[order[:1400].numpy()], d.target[order[1400:].numpy()]


def knn_accuracy(model):
    model.eval()
    with torch.no_grad():
        a, b = model.trunk(train_x).numpy(), model.trunk(test_x).numpy()
    return KNeighborsClassifier(5).fit(a, train_y).score(b, test_y)


model = Encoder()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-3)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, 2e-3, total_steps=EPOCHS * math.ceil(len(train_x) / BATCH))
print(f"chance level of the loss {math.log(2 * BATCH - 1):.3f}")
for epoch in range(1, EPOCHS + 1):
    model.train()
    total, n = 0.0, 0
    for b in torch.randperm(len(train_x)).split(BATCH):
        x = train_x[b]
        loss = nt_xent(model(views(x)), model(views(x)))
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        total, n = total + loss.item(), n + 1
    if epoch % 2 == 1:
        print(f"epoch {epoch:2d} nt-xent {total / n:.4f} knn accuracy {knn_accuracy(model):.3f}")
