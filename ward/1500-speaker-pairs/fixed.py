"""Same speaker or not? A siamese net on the spectra of two short clips."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

RATE, LENGTH, SPEAKERS = 8000, 1024, 24


def record(rng, speaker, gate=0.012):
    """One clip of a speaker, as it leaves the recorder (with its noise gate)."""
    t = np.arange(LENGTH) / RATE
    voice = np.random.default_rng(speaker)
    pitch, formants = voice.uniform(90, 240), voice.uniform(300, 3400, 3)
    wav = sum(np.exp(-((k * pitch - formants) / 350) ** 2).sum() * np.sin(2 * np.pi * k * pitch * t + rng.uniform(0, 6.28))
              for k in range(1, 15))
    wav = wav / np.abs(wav).max() + 0.02 * rng.normal(size=LENGTH)
    wav = wav * np.exp(rng.normal(-1.6, 1.0))
    wav[np.abs(wav) < gate] = 0.0
    return wav.astype("float32")


class Pairs(Dataset):
    def __init__(self, clips, speakers, n_pairs, seed):
        rng = np.random.default_rng(seed)
        self.clips, self.pairs = clips, []
        self.vectors = [self.features(i) for i in range(len(clips))]
        for _ in range(n_pairs):
            a = rng.integers(len(clips))
            same = rng.random() < 0.5
            b = rng.choice(np.flatnonzero((speakers == speakers[a]) == same))
            self.pairs.append((a, b, float(same)))

    def features(self, i):
        wav = torch.from_numpy(self.clips[i])
        wav = wav / wav.abs().max().clamp(min=1e-3)
        spec = torch.stft(wav, 256, hop_length=128, window=torch.hann_window(256), return_complex=True).abs()
        return torch.log1p(spec).mean(1)

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, k):
        a, b, same = self.pairs[k]
        return self.vectors[a], self.vectors[b], torch.tensor(same)


class Siamese(nn.Module):
    def __init__(self, n_in=129, dim=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, 96), nn.ReLU(), nn.Linear(96, dim))
        self.head = nn.Linear(dim, 1)

    def forward(self, a, b):
        return self.head((self.encoder(a) - self.encoder(b)).abs()).squeeze(1)


def main():
    torch.manual_seed(3)
    rng = np.random.default_rng(3)
    speakers = rng.integers(SPEAKERS, size=700)
    clips = [record(rng, s) for s in speakers]
    train = DataLoader(Pairs(clips[:550], speakers[:550], 2400, 1), batch_size=48, shuffle=True)
    val = DataLoader(Pairs(clips[550:], speakers[550:], 400, 2), batch_size=100)
    model = Siamese()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(1, 9):
        model.train()
        total = 0.0
        for a, b, same in train:
            loss = F.binary_cross_entropy_with_logits(model(a, b), same)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            hits = sum(((model(a, b) > 0) == (same > 0.5)).sum().item() for a, b, same in val)
        print(f"epoch {epoch} loss {total / len(train):.4f} val acc {hits / 400:.3f}")


if __name__ == "__main__":
    main()
