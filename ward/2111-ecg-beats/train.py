import numpy as np
import torch
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(8)
NUM_EPOCHS = 3
LEN = 96


class BeatDataset(Dataset):
    """Synthetic heart beats: normal, premature, missing P wave, inverted T wave."""

    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        t = np.linspace(0, 1, LEN)

        def bump(c, w, h):
            return h * np.exp(-((t - c) / w) ** 2)

        self.x = np.zeros((n, 1, LEN), dtype=np.float32)
        self.y = rng.integers(0, 4, n)
        for i, k in enumerate(self.y):
            shift = rng.normal(0, 0.04)
            r = 0.45 + shift - (0.10 if k == 1 else 0)
            beat = bump(r, rng.uniform(0.015, 0.03), 1.0) - bump(r + 0.04, 0.015, 0.3)
            if k != 2:
                beat += bump(0.27 + shift, 0.03, rng.uniform(0.15, 0.3))
            beat += bump(0.72 + shift, 0.06, rng.uniform(0.2, 0.4) * (-1 if k == 3 else 1))
            beat += rng.normal(0, 0.08, LEN) + 0.1 * np.sin(2 * np.pi * (t * rng.uniform(0.5, 1.5) + rng.random()))
            self.x[i, 0] = beat
        self.x = (self.x - 0.08) / 0.27
        self.x, self.y = torch.from_numpy(self.x), torch.from_numpy(self.y)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class BeatNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 16, 7, padding=3), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(16, 32, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(32, 32, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2),
        )
        self.classifier = nn.Sequential(nn.Flatten(), nn.Linear(32 * 12, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x):
        return self.classifier(self.features(x))


def train(model, loader, criterion, optimizer):
    model.train()
    running, correct = 0.0, 0
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        out = model(x)
        loss = criterion(out, y)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(y)
        correct += (out.argmax(1) == y).sum().item()
        if i % 20 == 0:
            print(f"  step {i:3d} loss {loss.item():.4f}")
    return running / len(loader.dataset), correct / len(loader.dataset)


def validate(model, loader, criterion):
    model.eval()
    running, correct = 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            running += criterion(out, y).item() * len(y)
            correct += (out.argmax(1) == y).sum().item()
    return running / len(loader.dataset), correct / len(loader.dataset)


if __name__ == "__main__":
    train_loader = DataLoader(BeatDataset(4000, 0), batch_size=64, shuffle=True)
    val_loader = DataLoader(BeatDataset(1000, 1), batch_size=250)
    model = BeatNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    for epoch in range(NUM_EPOCHS):
        tl, ta = train(model, train_loader, criterion, optimizer)
        vl, va = validate(model, val_loader, criterion)
        print(f"Epoch {epoch + 1}/{NUM_EPOCHS} - loss {tl:.4f} acc {ta:.3f} - val_loss {vl:.4f} val_acc {va:.3f}")
