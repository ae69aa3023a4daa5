"""Enhance noisy speech-like envelopes: the loss compares band energies of short frames, gradients of four batches make one update."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(17)
ACCUMULATE = 4


class Clips(Dataset):
    def __init__(self, count=384, length=256):
        g = torch.Generator().manual_seed(9)
        time = torch.arange(length) / 32.0
        pitch = 1 + 3 * torch.rand(count, 1, generator=g)
        loud = (torch.sin(0.4 * time + 6 * torch.rand(count, 1, generator=g)) > -0.2).float()
        self.clean = loud * torch.sin(6.28 * pitch * time)
        self.noisy = self.clean + 0.3 * torch.randn(count, length, generator=g) * (loud + 0.2)
        self.noisy[77] = self.clean[77] = 0.0

    def __len__(self):
        return len(self.clean)

    def __getitem__(self, i):
        return self.noisy[i], self.clean[i]


class Enhancer(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.down = nn.Conv1d(1, width, 5, padding=2, bias=False)
        self.middle = nn.Conv1d(width, width, 5, padding=2, bias=False)
        self.up = nn.Conv1d(width, 1, 5, padding=2, bias=False)

    def forward(self, x):
        h = torch.relu(self.down(x.unsqueeze(1)))
        h = h + torch.relu(self.middle(h))
        return self.up(h).squeeze(1)


def band_energy(x, frame=32):
    spectrum = torch.fft.rfft(x.unfold(1, frame, frame // 2))
    power = spectrum.real ** 2 + spectrum.imag ** 2
    bands = power.unfold(-1, 4, 4).sum(-1)
    return torch.sqrt(bands)


def distance(estimate, clean):
    return (band_energy(estimate) - band_energy(clean)).abs().mean()


loader = DataLoader(Clips(), batch_size=8, shuffle=True)
model = Enhancer()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for epoch in range(4):
    seen = 0.0
    optimizer.zero_grad()
    for i, (noisy, clean) in enumerate(loader, 1):
        loss = distance(model(noisy), clean)
        (loss / ACCUMULATE).backward()
        seen += loss.item()
        if i % ACCUMULATE == 0:
            optimizer.step()
            optimizer.zero_grad()
    print(f"epoch {epoch}: spectral distance {seen / len(loader):.4f}")
