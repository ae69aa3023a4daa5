"""Tone recogniser: trained on studio recordings, then tuned on telephone recordings."""
import math

import torch
from torch import nn

SR, LENGTH, TONES = 2000, 256, [180, 240, 310, 400, 520]


def recordings(n, phone, g):
    y = torch.randint(0, len(TONES), (n,), generator=g)
    t = torch.arange(LENGTH) / SR
    f = torch.tensor(TONES, dtype=torch.float32)[y][:, None] * (0.95 + 0.1 * torch.rand(n, 1, generator=g))
    if phone:
        f = f * 1.1
    phase = 6.28 * torch.rand(n, 1, generator=g)
    wave = torch.sin(2 * math.pi * f * t + phase) + 0.4 * torch.sin(4 * math.pi * f * t)
    noise = torch.randn(n, LENGTH, generator=g)
    if phone:
        wave = torch.clamp(1.5 * wave, -1, 1) + 0.3 * torch.sin(2 * math.pi * 50 * t)
    return spectrum(wave + 0.5 * noise), y


def spectrum(wave):
    mag = torch.fft.rfft(wave * torch.hann_window(LENGTH)).abs()[:, 1:]
    return torch.log1p(mag) - 2.0


class ToneNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(LENGTH // 2, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 32), nn.ReLU(),
                                    nn.Linear(32, len(TONES)))

    def forward(self, x):
        return self.layers(x)


def score(net, data):
    net.eval()
    with torch.no_grad():
        out = net(data[0])
    return nn.functional.cross_entropy(out, data[1]).item(), (out.argmax(1) == data[1]).float().mean().item()


def fit(net, draw, steps, lr, watch):
    """draw() gives one batch; watch maps names to validation sets."""
    opt = torch.optim.AdamW(net.parameters(), lr=lr, weight_decay=1e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=steps)
    running = 0.0
    for step in range(1, steps + 1):
        net.train()
        x, y = draw()
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        running += loss.item()
        if step % 200 == 0:
            marks = "  ".join(f"{k} {l:.4f}/{a:.3f}" for k, (l, a) in ((k, score(net, d)) for k, d in watch.items()))
            print(f"step {step:4d} train {running / 200:.4f}  {marks}")
            running = 0.0


def main():
    torch.manual_seed(13)
    g = torch.Generator().manual_seed(13)
    studio, studio_val = recordings(3000, False, g), recordings(600, False, g)
    phone, phone_val = recordings(1500, True, g), recordings(600, True, g)
    watch = {"studio": studio_val, "phone": phone_val}

    def pick(data, k):
        ids = torch.randint(0, len(data[1]), (k,))
        return data[0][ids], data[1][ids]

    def half_and_half():
        old, new = pick(studio, 24), pick(phone, 24)
        return torch.cat([old[0], new[0]]), torch.cat([old[1], new[1]])

    net = ToneNet()
    print("studio recordings")
    fit(net, lambda: pick(studio, 48), 1000, 1e-3, {"studio": studio_val})
    print("telephone recordings")
    fit(net, half_and_half, 1400, 1e-3, watch)


if __name__ == "__main__":
    main()
