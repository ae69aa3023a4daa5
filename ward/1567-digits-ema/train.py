import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.conv2, self.bn2 = nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32)
        self.drop = nn.Dropout(0.5)
        self.fc1, self.fc2 = nn.Linear(128, 64), nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        x = self.drop(F.relu(self.fc1(self.drop(x.flatten(1)))))
        return self.fc2(x)


class EMA:
    """Exponential moving average of the weights, used for validation."""

    def __init__(self, model, decay=0.98):
        self.decay = decay
        self.model = copy.deepcopy(model)
        for p in self.model.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for avg, p in zip(self.model.parameters(), model.parameters()):
            avg.lerp_(p, 1 - self.decay)
        for avg, b in zip(self.model.buffers(), model.buffers()):
            avg.copy_(b)


def main():
    torch.manual_seed(1)
    d = load_digits()
    x, y = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 16, torch.tensor(d.target)
    order = torch.randperm(len(y))
    x, y = x[order], y[order]
    train = DataLoader(TensorDataset(x[:1300], y[:1300]), batch_size=50, shuffle=True)
    val = DataLoader(TensorDataset(x[1300:], y[1300:]), batch_size=71)
    model = ConvNet()
    ema = EMA(model)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    best = 0.0
    for epoch in range(1, 16):
        model.train()
        total = 0.0
        for xb, yb in train:
            loss = F.cross_entropy(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            ema.update(model)
            total += loss.item()
        model.eval()
        vloss = hits = 0.0
        with torch.no_grad():
            for xb, yb in val:
                out = ema.model(xb)
                vloss += F.cross_entropy(out, yb, reduction="sum").item()
                hits += (out.argmax(1) == yb).sum().item()
        best = max(best, hits / 497)
        print(f"epoch {epoch:2d} train loss {total / len(train):.4f} val loss {vloss / 497:.4f} val acc {hits / 497:.3f}")
    print(f"best val acc {best:.3f}")


if __name__ == "__main__":
    main()
