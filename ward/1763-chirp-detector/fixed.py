"""Bird-call toy: is the chirp rising, falling or flat? Spectrogram + small CNN."""
import functools
import math

import torch
from torch import nn

SR, LENGTH = 4000, 4000
torch.manual_seed(31)


def synth(n, generator):
    """n noisy one-second recordings and their class."""
    kind = torch.randint(0, 3, (n,), generator=generator)
    t = torch.arange(LENGTH) / SR
    start = 500 + 700 * torch.rand(n, 1, generator=generator)
    slope = torch.tensor([500.0, -350.0, 0.0])[kind][:, None] * (0.7 + 0.6 * torch.rand(n, 1, generator=generator))
    phase = 2 * math.pi * (start * t + 0.5 * slope * t ** 2)
    wave = torch.sin(phase) + 1.0 * torch.randn(n, LENGTH, generator=generator)
    return wave, kind


@functools.lru_cache(maxsize=None)
def window(size):
    return torch.hann_window(size)


def log_spectrogram(wave, n_fft=128, hop=64):
    spec = torch.stft(wave, n_fft, hop_length=hop, window=window(n_fft), return_complex=True).abs()
    spec = torch.log1p(spec[:, :64])
    return ((spec - 2.0) / 0.8).unsqueeze(1)


def conv_block(cin, cout):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride=2, padding=1), nn.BatchNorm2d(cout), nn.ReLU())


class ChirpNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(conv_block(1, 8), conv_block(8, 16), conv_block(16, 24))
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.3), nn.Linear(24 * 8 * 8, 3))

    def forward(self, wave):
        return self.head(self.conv(log_spectrogram(wave)))


def score(net, waves, kinds):
    net.eval()
    losses, hits = 0.0, 0
    with torch.no_grad():
        for w, k in zip(waves.split(64), kinds.split(64)):
            out = net(w)
            losses += nn.functional.cross_entropy(out, k, reduction="sum").item()
            hits += (out.argmax(1) == k).sum().item()
    return losses / len(kinds), hits / len(kinds)


def main(epochs=15, batch=32):
    g = torch.Generator().manual_seed(5)
    train_w, train_k = synth(900, g)
    val_w, val_k = synth(300, g)
    net = ChirpNet()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs)
    for epoch in range(epochs):
        net.train()
        running = 0.0
        for ids in torch.randperm(len(train_k)).split(batch):
            wave = train_w[ids].roll(int(torch.randint(-200, 200, (1,))), dims=1)
            loss = nn.functional.cross_entropy(net(wave), train_k[ids])
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.item() * len(ids)
        sched.step()
        vl, va = score(net, val_w, val_k)
        print(f"epoch {epoch + 1:2d}  train {running / len(train_k):.4f}  val {vl:.4f}  acc {va:.3f}")


if __name__ == "__main__":
    main()
