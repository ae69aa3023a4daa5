import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import accuracy_score, recall_score
from torch.utils.data import DataLoader, TensorDataset

BEATS = {"N": 0.965, "V": 0.014, "S": 0.012, "Q": 0.009}


def bump(t, centre, width, height):
    return height * np.exp(-((t - centre) / width) ** 2)


def make_beats(n, rng):
    t = np.linspace(0, 1, 96)
    labels = rng.choice(len(BEATS), size=n, p=list(BEATS.values()))
    beats = np.zeros((n, 1, 96), np.float32)
    for i, k in enumerate(labels):
        early = rng.normal(0, 0.015) - (0.05 if k == 2 else 0)
        width = 0.03 + 0.005 * rng.normal() + 0.022 * (k == 1)
        p_wave = 0.25 * (k not in (1, 3)) * rng.uniform(0.6, 1.4)
        w = bump(t, 0.28 + early, 0.04, p_wave) + bump(t, 0.45 + early, width, 1.0)
        w -= bump(t, 0.52 + early, 0.03, 0.3 if k != 3 else 0.05)
        w += bump(t, 0.72 + early, 0.07, 0.35)
        beats[i, 0] = w + 0.12 * rng.normal(size=96)
    return torch.from_numpy((beats - 0.13) / 0.32), torch.from_numpy(labels)


class BeatNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 16, 7, padding=3), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(16, 24, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2))
        self.classify = nn.Sequential(nn.Flatten(), nn.Linear(24 * 24, 32), nn.ReLU(), nn.Linear(32, classes))

    def forward(self, x):
        return self.classify(self.features(x))


class Trainer:
    def __init__(self, model, criterion, optimizer):
        self.model, self.criterion, self.optimizer = model, criterion, optimizer

    def epoch(self, loader):
        self.model.train()
        total = 0.0
        for x, y in loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(loader)

    @torch.no_grad()
    def test(self, loader):
        self.model.eval()
        pred = torch.cat([self.model(x).argmax(1) for x, _ in loader])
        true = torch.cat([y for _, y in loader])
        return accuracy_score(true, pred), recall_score(true, pred, average=None, zero_division=0)


if __name__ == "__main__":
    torch.manual_seed(30)
    rng = np.random.default_rng(30)
    X, y = make_beats(5000, rng)
    train_loader = DataLoader(TensorDataset(X, y), batch_size=64, shuffle=True)
    val_loader = DataLoader(TensorDataset(*make_beats(3000, rng)), batch_size=500)
    model = BeatNet(len(BEATS))
    criterion = nn.CrossEntropyLoss()
    trainer = Trainer(model, criterion, torch.optim.SGD(model.parameters(), lr=0.003, momentum=0.9))
    for e in range(8):
        loss = trainer.epoch(train_loader)
        acc, recall = trainer.test(val_loader)
        print(f"epoch {e + 1} loss {loss:.4f} acc {acc:.3f} recall " + " ".join(f"{b} {r:.2f}" for b, r in zip(BEATS, recall)))
