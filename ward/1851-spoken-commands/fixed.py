import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

WORDS = ["up", "down", "left", "right", "stop", "go"]


def synth_clip(word, g, length=400):
    """A short chirp with word-specific formants, random onset, loudness and noise."""
    t = torch.arange(length) / length
    k = WORDS.index(word)
    f0, f1 = [(9, 26), (26, 9), (14, 14), (22, 22), (9, 14), (30, 22)][k]
    jitter = 1 + 0.06 * torch.randn(1, generator=g)
    phase = 2 * math.pi * torch.rand(1, generator=g)
    sweep = 2 * math.pi * jitter * (f0 * t + 0.5 * (f1 - f0) * t ** 2)
    onset, width = 0.3 + 0.4 * torch.rand(1, generator=g), 0.15 + 0.1 * torch.rand(1, generator=g)
    envelope = torch.exp(-((t - onset) / width) ** 2)
    return envelope * torch.sin(sweep + phase) + 0.25 * torch.randn(length, generator=g)


class CommandFolder(Dataset):
    """Mimics root/<word>/<clip>.wav, clips are listed folder by folder."""

    def __init__(self, clips_per_word, seed):
        g = torch.Generator().manual_seed(seed)
        self.samples = []
        for label, word in enumerate(WORDS):
            for _ in range(clips_per_word):
                self.samples.append((synth_clip(word, g), label))

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        wave, label = self.samples[i]
        return wave.unsqueeze(0), label


class M5Lite(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 16, 25, stride=4)
        self.conv2 = nn.Conv1d(16, 32, 7, padding=3)
        self.conv3 = nn.Conv1d(32, 32, 5, padding=2)
        self.fc = nn.Linear(64, n_out)

    def forward(self, x):
        x = F.max_pool1d(F.relu(self.conv1(x)), 2)
        x = F.max_pool1d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.conv3(x))
        x = torch.cat([x.mean(-1), x.amax(-1)], 1)
        return self.fc(x)


class Trainer:
    def __init__(self, model, train_set, val_set, cfg):
        self.model, self.cfg = model, cfg
        self.train_loader = DataLoader(train_set, batch_size=cfg["batch_size"], shuffle=True)
        self.val_loader = DataLoader(val_set, batch_size=100)
        self.optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=0.9, weight_decay=1e-4)

    def _train_epoch(self):
        self.model.train()
        total = 0.0
        for wave, label in self.train_loader:
            loss = F.cross_entropy(self.model(wave), label)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def _validate(self):
        self.model.eval()
        loss = hits = n = 0
        for wave, label in self.val_loader:
            out = self.model(wave)
            loss += F.cross_entropy(out, label, reduction="sum").item()
            hits += (out.argmax(1) == label).sum().item()
            n += len(label)
        return loss / n, hits / n

    def fit(self):
        for epoch in range(self.cfg["epochs"]):
            tr = self._train_epoch()
            vl, va = self._validate()
            print(f"Epoch {epoch + 1}/{self.cfg['epochs']} - loss: {tr:.4f} - val_loss: {vl:.4f} - val_acc: {va:.3f}")


if __name__ == "__main__":
    torch.manual_seed(21)
    cfg = {"lr": 0.01, "batch_size": 32, "epochs": 16}
    Trainer(M5Lite(len(WORDS)), CommandFolder(220, seed=1), CommandFolder(60, seed=2), cfg).fit()
