"""Train the chime classifier and pack it for the door unit; replay stored recordings through the packed unit."""
import io

import numpy as np
import torch
import torch.nn as nn

RATE, LENGTH = 4000, 512
CHIMES = {"ding": (620, 1.0), "dong": (470, 1.0), "buzz": (240, 0.2), "knock": (120, 3.0), "alarm": (880, 0.1)}


def sound(name, r):
    f, decay = CHIMES[name]
    f = f * r.uniform(0.94, 1.06)
    t = np.arange(LENGTH) / RATE
    wave = sum(a * np.sin(2 * np.pi * f * k * t + r.uniform(0, 6)) for k, a in ((1, 1.0), (2, 0.4), (3, 0.15)))
    wave = wave * np.exp(-decay * 8 * t) * 10 ** r.uniform(-1.8, -0.3) + r.normal(0, 0.003, LENGTH)
    return np.clip(wave, -1, 1).astype(np.float32)


def spectrum(wave):
    """Log power in 64 bands."""
    power = np.abs(np.fft.rfft(wave * np.hanning(LENGTH)))[:256] ** 2
    return np.log(power.reshape(64, 4).mean(1) + 1e-6)


def collect(n, seed):
    r = np.random.RandomState(seed)
    names = list(CHIMES)
    kind = r.randint(0, len(names), n)
    return [sound(names[k], r) for k in kind], torch.from_numpy(kind)


class ChimeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 24), nn.ReLU(), nn.Linear(24, 5))

    def forward(self, x):
        return self.layers(x)


class DoorUnit:
    """What is shipped: weights and the normalisation, fed with 16 bit PCM from the microphone."""

    def __init__(self, blob):
        pack = torch.load(io.BytesIO(blob))
        self.net = ChimeNet()
        self.net.load_state_dict(pack["weights"])
        self.net.eval()
        self.mean, self.std = pack["mean"], pack["std"]

    def features(self, pcm):
        wave = np.frombuffer(pcm, dtype=np.int16).astype(np.float32)
        return (torch.tensor(spectrum(wave), dtype=torch.float32) - self.mean) / self.std

    @torch.no_grad()
    def answer(self, pcm):
        return self.net(self.features(pcm)[None]).argmax(1).item()


torch.manual_seed(0)
waves, y = collect(12000, 1)
waves_val, y_val = collect(1500, 2)
x = torch.tensor(np.stack([spectrum(w) for w in waves]), dtype=torch.float32)
x_val = torch.tensor(np.stack([spectrum(w) for w in waves_val]), dtype=torch.float32)
mean, std = x.mean(0), x.std(0)
x, x_val = (x - mean) / std, (x_val - mean) / std

net = ChimeNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 20)
for epoch in range(20):
    net.train()
    total = 0.0
    for idx in torch.randperm(len(y)).split(64):
        loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / 188
    sched.step()
    net.eval()
    with torch.no_grad():
        out = net(x_val)
    print(f"{epoch + 1:2d} train {total:.4f} val {nn.functional.cross_entropy(out, y_val):.4f} "
          f"acc {(out.argmax(1) == y_val).float().mean():.4f}")

buffer = io.BytesIO()
torch.save({"weights": net.state_dict(), "mean": mean, "std": std}, buffer)
unit = DoorUnit(buffer.getvalue())
hits = sum(unit.answer((w * 32767).astype(np.int16).tobytes()) == int(k) for w, k in zip(waves_val, y_val))
print(f"door unit on the same recordings: {hits / len(y_val):.4f}")
