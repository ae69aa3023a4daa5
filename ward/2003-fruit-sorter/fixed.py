"""Sort fruit pictures on the belt: red apple, green apple, orange, plum."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

SIZE = 20
#            R    G    B
COLOURS = [(190, 40, 45), (90, 170, 60), (220, 130, 30), (95, 45, 130)]


def take_picture(kind, rng):
    """8-bit picture as the camera driver gives it, height x width x (B, G, R)."""
    img = rng.normal(110, 18, (SIZE, SIZE, 3))
    cy, cx = rng.uniform(7, 13, 2)
    r = rng.uniform(4, 7)
    yy, xx = np.mgrid[:SIZE, :SIZE]
    disc = (yy - cy) ** 2 + (xx - cx) ** 2 < r ** 2
    rgb = np.array(COLOURS[kind]) + rng.normal(0, 22, 3)
    shade = rng.uniform(0.7, 1.15)
    img[disc] = rgb[::-1] * shade + rng.normal(0, 10, (disc.sum(), 3))
    return img.clip(0, 255).astype(np.uint8)


def to_tensor(img):
    x = torch.from_numpy(np.ascontiguousarray(img)).permute(2, 0, 1).float() / 255
    mean = torch.tensor([0.45, 0.42, 0.38]).view(3, 1, 1)
    return (x - mean) / 0.2


class BeltTrain(Dataset):
    def __init__(self, pictures, kinds, seed=0):
        self.pictures, self.kinds = pictures, kinds
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, i):
        img = self.pictures[i][:, :, ::-1]
        if self.rng.random() < 0.5:
            img = img[:, ::-1]
        return to_tensor(img), self.kinds[i]


class BeltVal(Dataset):
    def __init__(self, pictures, kinds):
        self.pictures, self.kinds = pictures, kinds

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, i):
        return to_tensor(self.pictures[i][:, :, ::-1]), self.kinds[i]


def make(n, seed):
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 4, n)
    return [take_picture(k, rng) for k in kinds], kinds


class SorterNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(24 * 5 * 5, 4)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x)))
        return self.fc(x.flatten(1))


torch.manual_seed(3)
train_loader = DataLoader(BeltTrain(*make(1600, 1)), batch_size=64, shuffle=True)
val_loader = DataLoader(BeltVal(*make(800, 2)), batch_size=200)
net = SorterNet()
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(10):
    net.train()
    tl, tn = 0.0, 0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = loss_fn(net(x), y)
        loss.backward()
        optimizer.step()
        tl += loss.item() * len(y)
        tn += len(y)
    net.eval()
    vl = correct = n = 0
    with torch.no_grad():
        for x, y in val_loader:
            out = net(x)
            vl += loss_fn(out, y).item() * len(y)
            correct += (out.argmax(1) == y).sum().item()
            n += len(y)
    print(f"epoch {epoch}: train {tl / tn:.4f}  val {vl / n:.4f}  val acc {correct / n:.3f}")
