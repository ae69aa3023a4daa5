"""Place recognition on synthetic facades: a small convolutional trunk, generalised-mean pooling and a triplet loss."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(5)
PLACES, VIEWS = 40, 8
base = torch.randn(PLACES, 1, 12, 12)
views = base[:, None] + 0.4 * torch.randn(PLACES, VIEWS, 1, 12, 12)


class Trunk(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(32)

    def forward(self, x):
        x = F.leaky_relu(self.norm1(self.conv1(x)), 0.1)
        x = F.max_pool2d(x, 2)
        return F.leaky_relu(self.norm2(self.conv2(x)), 0.1)


class GeneralisedMean(nn.Module):
    def __init__(self, p=3.0):
        super().__init__()
        self.p = p

    def forward(self, x):
        x = x.flatten(2)
        pooled = torch.mean(x ** self.p, dim=-1) + 1e-12
        return pooled ** (1.0 / self.p)


class Descriptor(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = Trunk()
        self.pool = GeneralisedMean()
        self.head = nn.Linear(32, 24)

    def forward(self, x):
        return F.normalize(self.head(self.pool(self.trunk(x))), dim=1)


def triplets(n):
    place = torch.randint(PLACES, (n,))
    other = (place + torch.randint(1, PLACES, (n,))) % PLACES
    a, b, c = (torch.randint(VIEWS, (n,)) for _ in range(3))
    return views[place, a], views[place, b], views[other, c]


model = Descriptor()
criterion = nn.TripletMarginLoss(margin=0.5)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(160):
    anchor, positive, negative = triplets(32)
    loss = criterion(model(anchor), model(positive), model(negative))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        print(f"step {step + 1}: triplet loss {loss.item():.4f}")
