"""Phoneme-like classes from synthetic spectrogram frames. A trainer class with a metrics helper."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Frames(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        self.labels = rng.integers(0, 12, n)
        centres = np.random.default_rng(0).normal(size=(12, 40))
        base = centres[self.labels][:, None, :] * np.sin(np.linspace(0.3, 2.8, 30))[None, :, None]
        self.frames = (base + 1.2 * rng.normal(size=(n, 30, 40))).astype(np.float32)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        return self.frames[i], int(self.labels[i])


@dataclass
class Config:
    epochs: int = 8
    batch: int = 64
    lr: float = 1e-3
    hidden: int = 96


class Meter:
    """Collects what was predicted, for a report per class."""

    def __init__(self):
        self.inputs, self.guesses, self.answers = [], [], []

    def update(self, x, logits, y):
        self.inputs.append(x.numpy())
        self.guesses.append(logits.detach().argmax(1).numpy())
        self.answers.append(y.numpy())

    def accuracy(self):
        return float(np.mean(np.concatenate(self.guesses[-24:]) == np.concatenate(self.answers[-24:])))


class Trainer:
    def __init__(self, config):
        self.config = config
        self.net = nn.GRU(40, config.hidden, batch_first=True)
        self.head = nn.Linear(config.hidden, 12)
        parameters = [*self.net.parameters(), *self.head.parameters()]
        self.optimizer = torch.optim.AdamW(parameters, lr=config.lr, weight_decay=1e-4)
        self.meter = Meter()

    def forward(self, x):
        out, _ = self.net(x)
        return self.head(out[:, -1])

    def fit(self, train, val):
        for epoch in range(self.config.epochs):
            self.net.train()
            for x, y in train:
                logits = self.forward(x)
                loss = F.cross_entropy(logits, y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.meter.update(x, logits, y)
            print(f"epoch {epoch} loss {loss.item():.3f} train acc {self.meter.accuracy():.3f} val acc {self.evaluate(val):.3f}")

    @torch.no_grad()
    def evaluate(self, val):
        self.net.eval()
        right = sum((self.forward(x).argmax(1) == y).sum().item() for x, y in val)
        return right / len(val.dataset)


if __name__ == "__main__":
    torch.manual_seed(0)
    config = Config()
    trainer = Trainer(config)
    trainer.fit(DataLoader(Frames(3200, 1), config.batch, shuffle=True), DataLoader(Frames(600, 2), 200))
