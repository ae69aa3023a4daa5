"""Self-supervised codes for digits (BYOL style: online net, slow target net, predictor), judged by k-NN."""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

torch.manual_seed(31)
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
images = (images - 0.3) / 0.38
labels = digits.target
tr = slice(0, 1400)
te = slice(1400, None)


def augment(x):
    n = len(x)
    ang = (torch.rand(n) - 0.5) * 0.5
    sc = 1 + (torch.rand(n) - 0.5) * 0.2
    theta = torch.zeros(n, 2, 3)
    theta[:, 0, 0], theta[:, 0, 1] = ang.cos() * sc, -ang.sin()
    theta[:, 1, 0], theta[:, 1, 1] = ang.sin(), ang.cos() * sc
    theta[:, :, 2] = (torch.rand(n, 2) - 0.5) * 0.3
    out = F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), padding_mode="border", align_corners=False)
    return out + 0.15 * torch.randn_like(out)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
                                   nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten())
        self.proj = nn.Sequential(nn.Linear(512, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))

    def forward(self, x):
        return self.proj(self.trunk(x))


online = Encoder()
predictor = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
target = copy.deepcopy(online)
for p in target.parameters():
    p.requires_grad_(False)
opt = torch.optim.AdamW([*online.parameters(), *predictor.parameters()], lr=2e-3, weight_decay=1e-4)


def regress(p, z):
    return -F.cosine_similarity(p, z.detach(), dim=1).mean()


@torch.no_grad()
def knn_accuracy():
    online.eval()
    h = F.normalize(online(images), dim=1).numpy()
    online.train()
    return KNeighborsClassifier(10).fit(h[tr], labels[tr]).score(h[te], labels[te])


EPOCHS = 25
x_train = images[tr]
print(f"start: knn {knn_accuracy():.3f}")
for epoch in range(EPOCHS):
    tau = 1 - 0.03 * (math.cos(math.pi * epoch / EPOCHS) + 1) / 2
    total, spread, n = 0.0, 0.0, 0
    for b in torch.randperm(len(x_train)).split(128):
        if len(b) < 64:
            continue
        v1, v2 = augment(x_train[b]), augment(x_train[b])
        q1, q2 = online(v1), online(v2)
        with torch.no_grad():
            z1, z2 = target(v1), target(v2)
        left = regress(predictor(q1), z2)
        right = regress(predictor(q2), z1)
        loss = 0.5 * (left + right)
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for t, o in zip(target.parameters(), online.parameters()):
                t.mul_(tau).add_(o, alpha=1 - tau)
            for t, o in zip(target.buffers(), online.buffers()):
                t.copy_(o)
        total, n = total + loss.item(), n + 1
        spread += F.normalize(z1, dim=1).std(0).mean().item()
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1} loss {total / n:.4f} spread {spread / n:.3f} knn {knn_accuracy():.3f}")
