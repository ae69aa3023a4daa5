import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset

MEAN, STD = 0.3053, 0.3769


def to_tensor(picture):
    """uint8 picture (h, w) -> float tensor (1, h, w) like the one of torchvision."""
    return torch.from_numpy(picture).unsqueeze(0).float().div(255)


class Compose:
    def __init__(self, *steps):
        self.steps = steps

    def __call__(self, x):
        for step in self.steps:
            x = step(x)
        return x


class Glyphs(Dataset):
    def __init__(self, pictures, labels, transform):
        self.pictures, self.labels, self.transform = pictures, labels, transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        img = self.transform(self.pictures[i])
        img = img / 255.0
        img = (img - MEAN) / STD
        return img, int(self.labels[i])


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc1 = nn.Linear(24 * 16, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = F.max_pool2d(torch.relu(self.conv2(x)), 2)
        x = torch.relu(self.fc1(x.flatten(1)))
        return self.fc2(x)


def test(model, loader):
    model.eval()
    loss, hits, n = 0.0, 0, 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += F.cross_entropy(out, y, reduction="sum").item()
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    print("    Test set: Average loss: {:.4f}, Accuracy: {}/{} ({:.1f}%)".format(loss / n, hits, n, 100 * hits / n))


torch.manual_seed(1)
bunch = load_digits()
pictures = np.kron(np.minimum(bunch.images * 16, 255), np.ones((1, 2, 2))).astype(np.uint8)
order = np.random.RandomState(0).permutation(len(pictures))
pictures, labels = pictures[order], bunch.target[order]
tf = Compose(to_tensor)
train_loader = DataLoader(Glyphs(pictures[:1400], labels[:1400], tf), batch_size=32, shuffle=True)
test_loader = DataLoader(Glyphs(pictures[1400:], labels[1400:], tf), batch_size=200)

model = LeNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=6, gamma=0.3)
for epoch in range(1, 17):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(data), target)
        loss.backward()
        optimizer.step()
        if batch_idx % 20 == 0:
            print("Train Epoch: {} [{}/{}]\tLoss: {:.6f}".format(epoch, batch_idx * 32, 1400, loss.item()))
    scheduler.step()
    test(model, test_loader)
