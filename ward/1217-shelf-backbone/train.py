"""Products on a shelf camera: features from a small backbone, classified by a head (sklearn digits as stand-ins)."""
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(50)


class Backbone(nn.Module):
    def __init__(self, out_dim=64):
        super().__init__()
        self.block1 = nn.Sequential(nn.Conv2d(1, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2))
        self.block2 = nn.Sequential(nn.Conv2d(12, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU(), nn.MaxPool2d(2))
        self.proj = nn.Linear(24 * 4, out_dim)

    def forward(self, x):
        return self.proj(self.block2(self.block1(x)).flatten(1))


class Head(nn.Module):
    def __init__(self, in_dim=64, n_classes=10, p=0.5):
        super().__init__()
        self.drop1, self.drop2 = nn.Dropout(p), nn.Dropout(p)
        self.fc1, self.fc2 = nn.Linear(in_dim, 64), nn.Linear(64, n_classes)

    def forward(self, z):
        z = torch.relu(self.fc1(self.drop1(z)))
        return self.fc2(self.drop2(z))


def set_mode(backbone, head, train):
    backbone.train(train)
    head.train()


def epoch_pass(backbone, head, loader, optimizer=None):
    training = optimizer is not None
    set_mode(backbone, head, train=training)
    loss_sum, right, seen = 0.0, 0, 0
    with torch.set_grad_enabled(training):
        for x, y in loader:
            out = head(backbone(x))
            loss = nn.functional.cross_entropy(out, y)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(y)
            right += (out.argmax(1) == y).sum().item()
            seen += len(y)
    return loss_sum / seen, right / seen


images, labels = load_digits(return_X_y=True)
x = (torch.tensor(images, dtype=torch.float32).view(-1, 1, 8, 8) / 16 - 0.3) / 0.38
y = torch.tensor(labels)
perm = torch.randperm(len(x))
tr, te = perm[:1400], perm[1400:]
loaders = {"train": DataLoader(TensorDataset(x[tr], y[tr]), batch_size=40, shuffle=True),
           "test": DataLoader(TensorDataset(x[te], y[te]), batch_size=200)}

backbone, head = Backbone(), Head()
optimizer = torch.optim.Adam([*backbone.parameters(), *head.parameters()], lr=2e-3)
for epoch in range(1, 6):
    tl, ta = epoch_pass(backbone, head, loaders["train"], optimizer)
    vl, va = epoch_pass(backbone, head, loaders["test"])
    print(f"epoch {epoch}: train loss {tl:.3f} acc {ta:.3f} | test loss {vl:.3f} acc {va:.3f}")
