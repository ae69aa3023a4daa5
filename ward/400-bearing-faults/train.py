"""Fault type of a roller bearing from a short vibration window."""
import math

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

KINDS = ["ok", "inner", "outer", "cage"]


class Windows(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        t = torch.linspace(0, 1, 64)
        self.label = torch.randint(0, 4, (n,), generator=g)
        rate = torch.tensor([3.0, 6.0, 9.0, 13.0])[self.label][:, None]
        phase = torch.rand(n, 1, generator=g) * 2 * math.pi
        carrier = torch.sin(2 * math.pi * rate * t + phase)
        bumps = torch.where(carrier > 0.4, carrier, torch.zeros_like(carrier))
        self.signal = (bumps + 0.8 * torch.randn(n, 64, generator=g))[:, None]

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return self.signal[i], self.label[i]


class FaultNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 12, 9, padding=4), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(12, 24, 9, padding=4), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(),
        )
        self.head = nn.Linear(96, len(KINDS))

    def forward(self, x):
        return self.head(self.features(x))


class Trainer:
    def __init__(self, model, train, val, epochs):
        self.model, self.epochs = model, epochs
        self.train_loader = DataLoader(train, batch_size=50, shuffle=True)
        self.val_loader = DataLoader(val, batch_size=400)
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, step_size=5, gamma=0.3)

    def fit(self):
        for epoch in range(self.epochs):
            self.model.train()
            running = 0.0
            for x, y in self.train_loader:
                loss = self.criterion(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.scheduler.step()
                running += loss.item()
            print(f"epoch {epoch + 1:2d}  train loss {running / len(self.train_loader):.4f}  val acc {self.evaluate():.3f}")

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        hits = sum((self.model(x).argmax(1) == y).sum().item() for x, y in self.val_loader)
        return hits / len(self.val_loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(17)
    Trainer(FaultNet(), Windows(1000, 1), Windows(400, 2), epochs=12).fit()
