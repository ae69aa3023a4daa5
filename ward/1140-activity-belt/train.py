"""Activity recognition from a belt-worn accelerometer (3 axes, 64 samples per window)."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset, Subset

ACTIVITIES = ["walking", "upstairs", "downstairs", "cycling", "sitting", "lying"]


class BeltWindows(Dataset):
    """Windows cut from simulated recordings; one recording per person and activity."""

    def __init__(self, people=8, per_recording=30, length=64, seed=0):
        rng = np.random.default_rng(seed)
        t = np.arange(length) / 32.0
        freq = [1.8, 1.5, 2.1, 1.2, 0.3, 0.2]
        amp = np.array([[.5, .3, .9], [.6, .5, .8], [.6, .4, 1.1], [.9, .2, .4], [.1, .1, .1], [.1, .1, .1]])
        gravity = np.array([[0, .2, 1], [.2, .3, 1], [-.1, .3, 1], [.5, .1, .8], [.1, .8, .6], [1, .1, .1]])
        windows, labels = [], []
        for person in range(people):
            pace, force = rng.normal(1, 0.08), rng.normal(1, 0.15)
            for k in range(len(ACTIVITIES)):
                for _ in range(per_recording):
                    phase = rng.uniform(0, 2 * np.pi, size=(3, 1))
                    wave = np.sin(2 * np.pi * freq[k] * pace * t + phase)
                    w = amp[k][:, None] * force * wave + gravity[k][:, None]
                    windows.append(w + rng.normal(0, 0.35, size=w.shape))
                    labels.append(k)
        x = np.asarray(windows, dtype=np.float32)
        self.x = torch.from_numpy((x - x.mean((0, 2), keepdims=True)) / x.std((0, 2), keepdims=True))
        self.y = torch.tensor(labels)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def stratified_indices(labels, train_share, seed):
    """The same share of every activity goes to the training part."""
    rng = np.random.default_rng(seed)
    train, test = [], []
    for k in range(len(ACTIVITIES)):
        members = rng.permutation(np.flatnonzero(labels == k))
        cut = int(train_share * len(members))
        train.extend(members[:cut].tolist())
        test.extend(members[cut:].tolist())
    return train, test


class Trainer:
    def __init__(self, net, train_loader, test_loader, lr):
        self.net, self.train_loader, self.test_loader = net, train_loader, test_loader
        self.loss_fn = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(net.parameters(), lr=lr)

    def fit(self, epochs):
        for epoch in range(1, epochs + 1):
            self.net.train()
            running = 0.0
            for x, y in self.train_loader:
                self.optimizer.zero_grad()
                loss = self.loss_fn(self.net(x), y)
                loss.backward()
                self.optimizer.step()
                running += loss.item()
            test_loss, acc = self.evaluate()
            print(f"epoch {epoch}: train loss {running / len(self.train_loader):.4f} "
                  f"test loss {test_loss:.4f} test acc {acc:.3f}")

    @torch.no_grad()
    def evaluate(self):
        self.net.eval()
        total, hits, n = 0.0, 0, 0
        for x, y in self.test_loader:
            out = self.net(x)
            total += self.loss_fn(out, y).item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
        return total / n, hits / n


if __name__ == "__main__":
    torch.manual_seed(4)
    data = BeltWindows()
    train_idx, test_idx = stratified_indices(data.y.numpy(), 0.8, seed=1)
    train_loader = DataLoader(Subset(data, train_idx), batch_size=32)
    test_loader = DataLoader(Subset(data, test_idx), batch_size=288)
    net = nn.Sequential(
        nn.Conv1d(3, 16, 7, stride=2, padding=3), nn.ReLU(),
        nn.Conv1d(16, 32, 5, stride=2, padding=2), nn.ReLU(),
        nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(128, len(ACTIVITIES)),
    )
    Trainer(net, train_loader, test_loader, lr=2e-3).fit(epochs=5)
