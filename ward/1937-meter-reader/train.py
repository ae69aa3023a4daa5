"""CRNN that reads which digit is largest on a three-digit meter strip."""
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


def strips(images, labels, n, seed):
    """Three digits side by side; the target is the largest of them."""
    rng = np.random.default_rng(seed)
    pick = rng.integers(0, len(labels), (n, 3))
    x = np.concatenate([images[pick[:, k]] for k in range(3)], axis=2)
    x = x / 8.0 - 1 + 0.1 * rng.standard_normal(x.shape)
    return torch.tensor(x[:, None], dtype=torch.float32), torch.tensor(labels[pick].max(1))


class CRNN(nn.Module):
    def __init__(self, hidden=48, classes=10):
        super().__init__()
        self.cnn = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
                                 nn.Conv2d(16, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.rnn = nn.GRU(24 * 4, hidden, bidirectional=True)
        self.drop = nn.Dropout(0.3)
        self.head = nn.Linear(2 * hidden, classes)

    def forward(self, x):
        f = self.cnn(x)
        b, c, h, w = f.shape
        seq = f.reshape(w, b, c * h)
        out, _ = self.rnn(seq)
        return self.head(self.drop(out.amax(0)))


class Runner:
    def __init__(self, model, lr=2e-3, epochs=10):
        self.model, self.epochs = model, epochs
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.sched = torch.optim.lr_scheduler.CosineAnnealingLR(self.opt, epochs)
        self.loss = nn.CrossEntropyLoss()
        self.history = []

    def epoch(self, loader, train):
        self.model.train(train)
        tot = ok = n = 0
        with torch.set_grad_enabled(train):
            for x, y in loader:
                out = self.model(x)
                loss = self.loss(out, y)
                if train:
                    self.opt.zero_grad()
                    loss.backward()
                    nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
                    self.opt.step()
                tot += loss.item() * len(y)
                ok += (out.argmax(1) == y).sum().item()
                n += len(y)
        return tot / n, ok / n

    def fit(self, train, val):
        for e in range(self.epochs):
            tr, va = self.epoch(train, True), self.epoch(val, False)
            self.sched.step()
            self.history.append((tr, va))
            print(f"{e + 1:2d}/{self.epochs}  loss {tr[0]:.3f} acc {tr[1]:.3f}   val loss {va[0]:.3f} acc {va[1]:.3f}")


if __name__ == "__main__":
    torch.manual_seed(0)
    d = load_digits()
    train = TensorDataset(*strips(d.images[:1200], d.target[:1200], 2400, 1))
    val = TensorDataset(*strips(d.images[1200:], d.target[1200:], 480, 2))
    Runner(CRNN()).fit(DataLoader(train, batch_size=32, shuffle=True), DataLoader(val, batch_size=32))
