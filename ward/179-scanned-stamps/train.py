import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


def scan(n, seed):
    """Grey scans (uint8, 20 x 20) of five kinds of postmarks: ring, cross, bars, box, dot."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 5, n)
    yy, xx = np.mgrid[-1:1:20j, -1:1:20j]
    out = np.empty((n, 20, 20), dtype=np.uint8)
    for i, k in enumerate(kinds):
        dx, dy = rng.uniform(-0.25, 0.25, 2)
        s = rng.uniform(0.8, 1.2)
        a, b = (xx - dx) / s, (yy - dy) / s
        r = np.hypot(a, b)
        ink = [np.abs(r - 0.55) < 0.13,
               (np.minimum(np.abs(a), np.abs(b)) < 0.12) & (r < 0.7),
               (np.abs(((b + 1) * 2.2) % 1 - 0.5) < 0.25) & (r < 0.7),
               np.abs(np.maximum(np.abs(a), np.abs(b)) - 0.5) < 0.13,
               r < 0.4][k]
        paper = 200 + 15 * rng.standard_normal() - 90 * ink + 25 * rng.standard_normal((20, 20))
        out[i] = np.clip(paper, 0, 255)
    return out, kinds


class Postmarks(Dataset):
    def __init__(self, n, seed):
        self.images, self.kinds = scan(n, seed)

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, i):
        image = torch.from_numpy(self.images[i]).float()
        return image.unsqueeze(0), int(self.kinds[i])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3)
        self.conv2 = nn.Conv2d(8, 16, 3)
        self.fc1 = nn.Linear(16 * 3 * 3, 32)
        self.fc2 = nn.Linear(32, 5)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


torch.manual_seed(8)
train_loader = DataLoader(Postmarks(1600, 1), batch_size=40, shuffle=True)
test_loader = DataLoader(Postmarks(400, 2), batch_size=200)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

for epoch in range(8):
    net.train()
    total = 0.0
    for images, kinds in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images), kinds)
        loss.backward()
        optimizer.step()
        total += loss.item()
    net.eval()
    test_loss, right = 0.0, 0
    with torch.no_grad():
        for images, kinds in test_loader:
            out = net(images)
            test_loss += F.cross_entropy(out, kinds).item() / len(test_loader)
            right += (out.argmax(1) == kinds).sum().item()
    print(f"Epoch {epoch}: train loss {total / len(train_loader):.4f}, test loss {test_loss:.4f}, test acc {right / 400:.3f}")
