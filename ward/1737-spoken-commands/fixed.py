import math

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

WORDS = ["yes", "no", "up", "down", "left", "right", "stop", "go"]
RATE, LENGTH = 2000, 512


def synthesize(word, n, gen):
    """Two formants that glide, with breath noise, random loudness and onset."""
    g = torch.Generator().manual_seed(1000 + word)
    start, end = 150 + 600 * torch.rand(2, generator=g), 150 + 600 * torch.rand(2, generator=g)
    t = torch.arange(LENGTH) / RATE
    clips = []
    for _ in range(n):
        pitch = 1 + 0.06 * torch.randn(1, generator=gen)
        glide = t / t[-1]
        wave = torch.zeros(LENGTH)
        for a, b, amp in zip(start, end, (1.0, 0.6)):
            freq = pitch * (a + (b - a) * glide)
            wave += amp * torch.sin(2 * math.pi * torch.cumsum(freq, 0) / RATE + 6.28 * torch.rand(1, generator=gen))
        env = torch.exp(-((glide - 0.5 - 0.1 * torch.randn(1, generator=gen)) / 0.25) ** 2)
        clips.append(wave * env * (0.7 + 0.6 * torch.rand(1, generator=gen)) + 0.2 * torch.randn(LENGTH, generator=gen))
    return torch.stack(clips)


class SpeechFolder(Dataset):
    """root/<word>/<clip>.wav, in memory"""

    def __init__(self, clips_per_word, seed):
        gen = torch.Generator().manual_seed(seed)
        self.waves, self.targets = [], []
        for k, _ in enumerate(WORDS):
            for clip in synthesize(k, clips_per_word, gen):
                self.waves.append(clip)
                self.targets.append(k)

    def __len__(self):
        return len(self.waves)

    def __getitem__(self, i):
        return self.waves[i].unsqueeze(0), self.targets[i]


class M3(nn.Module):
    def __init__(self, n_out):
        super().__init__()
        self.conv1 = nn.Conv1d(1, 24, 32, stride=4)
        self.conv2 = nn.Conv1d(24, 32, 5, stride=2)
        self.conv3 = nn.Conv1d(32, 48, 3)
        self.pool = nn.AdaptiveAvgPool1d(4)
        self.fc = nn.Linear(48 * 4, n_out)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        x = torch.relu(self.conv3(x))
        return self.fc(self.pool(x).flatten(1))


class Experiment:
    def __init__(self, lr=1e-3, batch_size=20):
        self.train_loader = DataLoader(SpeechFolder(120, seed=1), batch_size=batch_size, shuffle=True)
        self.test_loader = DataLoader(SpeechFolder(30, seed=2), batch_size=120)
        self.model = M3(len(WORDS))
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()

    def train(self):
        self.model.train()
        losses = []
        for wave, target in self.train_loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(wave), target)
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    def test(self):
        self.model.eval()
        correct = loss = 0
        with torch.no_grad():
            for wave, target in self.test_loader:
                out = self.model(wave)
                loss += self.criterion(out, target).item() * len(target)
                correct += out.argmax(1).eq(target).sum().item()
        n = len(self.test_loader.dataset)
        return loss / n, 100 * correct / n


if __name__ == "__main__":
    torch.manual_seed(9)
    exp = Experiment()
    for epoch in range(1, 11):
        tr = exp.train()
        te, acc = exp.test()
        print(f"Epoch {epoch:02d}: train loss {tr:.4f}  test loss {te:.4f}  accuracy {acc:.1f}%")
