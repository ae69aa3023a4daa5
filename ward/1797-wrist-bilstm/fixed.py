import math

import torch
import torch.nn as nn
import torch.optim as optim
from torch.utils.data import DataLoader, TensorDataset

ACTIVITIES = ["walk", "run", "stairs", "cycle", "sit"]
STEPS = 40


def record(n, generator):
    """Three-axis wrist accelerometer windows, 40 samples each."""
    y = torch.randint(0, len(ACTIVITIES), (n,), generator=generator)
    t = torch.arange(STEPS).float() / 20
    freq = torch.tensor([1.6, 2.8, 1.2, 1.0, 0.2])[y] + 0.1 * torch.randn(n, generator=generator)
    amp = torch.tensor([0.8, 1.8, 1.0, 0.5, 0.1])[y] * (1 + 0.15 * torch.randn(n, generator=generator))
    tilt = torch.tensor([0.1, 0.2, 0.6, -0.6, 0.0])[y]
    phase = torch.rand(n, generator=generator) * 2 * math.pi
    arg = 2 * math.pi * freq[:, None] * t + phase[:, None]
    wave = torch.stack([amp[:, None] * torch.sin(arg), 0.5 * amp[:, None] * torch.cos(arg),
                        tilt[:, None] + 0.3 * amp[:, None] * torch.sin(2 * arg)], -1)
    return wave + 0.3 * torch.randn(n, STEPS, 3, generator=generator), y


class ActivityNet(nn.Module):
    def __init__(self, n_channels=3, hidden=32, n_classes=5):
        super(ActivityNet, self).__init__()
        self.hidden = hidden
        self.lstm = nn.LSTM(n_channels, hidden, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(2 * hidden, n_classes)

    def forward(self, x):
        batch = x.size(0)
        _, (h_n, _) = self.lstm(x)
        # join both directions
        h = h_n.transpose(0, 1).reshape(batch, 2 * self.hidden)
        return self.fc(self.drop(h))


class Runner(object):
    def __init__(self, model, lr, epochs):
        self.model = model
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = optim.Adam(model.parameters(), lr=lr)
        self.scheduler = optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=epochs)

    def train_epoch(self, loader):
        self.model.train()
        loss_sum, correct, count = 0., 0, 0
        for x, y in loader:
            self.optimizer.zero_grad()
            out = self.model(x)
            loss = self.criterion(out, y)
            loss.backward()
            self.optimizer.step()
            loss_sum += loss.item() * y.size(0)
            correct += (out.argmax(1) == y).sum().item()
            count += y.size(0)
        self.scheduler.step()
        return loss_sum / count, correct / count

    @torch.no_grad()
    def validate(self, loader):
        self.model.eval()
        loss_sum, correct, count = 0., 0, 0
        for x, y in loader:
            out = self.model(x)
            loss_sum += self.criterion(out, y).item() * y.size(0)
            correct += (out.argmax(1) == y).sum().item()
            count += y.size(0)
        return loss_sum / count, correct / count


def main():
    torch.manual_seed(77)
    g = torch.Generator().manual_seed(77)
    train_loader = DataLoader(TensorDataset(*record(2000, g)), batch_size=40, shuffle=True)
    val_loader = DataLoader(TensorDataset(*record(500, g)), batch_size=100, shuffle=False)
    runner = Runner(ActivityNet(), lr=2e-3, epochs=12)
    for epoch in range(1, 13):
        tl, ta = runner.train_epoch(train_loader)
        vl, va = runner.validate(val_loader)
        print("Epoch {:2d} | train loss {:.4f} acc {:.3f} | val loss {:.4f} acc {:.3f}".format(epoch, tl, ta, vl, va))


if __name__ == "__main__":
    main()
