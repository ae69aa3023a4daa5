import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(3)


class Scans(Dataset):
    """Digits with scratches, mended by the median of the neighbours."""

    def __init__(self, images, labels):
        self.images, self.labels = images, labels

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = self.images[i]
        mended = np.zeros_like(image)
        for r in range(image.shape[0]):
            for c in range(image.shape[1]):
                near = image[max(r - 1, 0) : r + 2, max(c - 1, 0) : c + 2]
                mended[r, c] = np.median(near)
        return torch.tensor(mended[None] / 16, dtype=torch.float32), int(self.labels[i])


d = load_digits()
rng = np.random.default_rng(3)
images = np.where(rng.random(d.images.shape) < 0.05, 16.0, d.images)
train = DataLoader(Scans(images[:600], d.target[:600]), batch_size=30, shuffle=True)
net = nn.Sequential(nn.Flatten(), nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(5):
    total = 0.0
    for x, y in train:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch + 1} loss {total / len(train):.4f}")
