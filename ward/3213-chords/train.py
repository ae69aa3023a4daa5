"""Stage 1: hear single notes in mixtures (plenty of labels). Stage 2: name chords from few labels on top of the frozen trunk."""
import io
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)
SR, LEN, N_NOTES = 2000, 256, 12
FREQ = 130.0 * 2 ** (torch.arange(N_NOTES) / 6)
CHORDS = [(0, 4, 7), (1, 5, 8), (2, 5, 9), (0, 3, 8), (3, 6, 10), (4, 7, 11), (1, 6, 11), (2, 8, 10)]


def render(active):
    """active: (n, notes) 0/1 -> waveforms with random phases and loudness"""
    n = len(active)
    t = torch.arange(LEN) / SR
    phase = torch.rand(n, N_NOTES, 1) * 2 * math.pi
    amp = active[..., None] * (0.6 + 0.8 * torch.rand(n, N_NOTES, 1))
    wave = (amp * torch.sin(2 * math.pi * FREQ[:, None] * t + phase)).sum(1)
    return (wave + 0.2 * torch.randn(n, LEN))[:, None]


class Trunk(nn.Module):
    def __init__(self, ch=32):
        super().__init__()
        self.c1 = nn.Conv1d(1, ch, 65, stride=4)
        self.c2 = nn.Conv1d(ch, ch, 5, stride=2)
        self.proj = nn.Linear(2 * ch, 32)

    def forward(self, x):
        x = F.relu(self.c1(x))
        x = F.relu(self.c2(x))
        return F.relu(self.proj(torch.cat([x.amax(2), x.mean(2)], 1)))


class NoteTagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = Trunk()
        self.notes = nn.Linear(32, N_NOTES)

    def forward(self, x):
        return self.notes(self.trunk(x))


class ChordNamer(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Trunk()
        self.chord = nn.Linear(32, len(CHORDS))

    def forward(self, x):
        return self.chord(self.encoder(x))


def pretrain(steps=900):
    model = NoteTagger()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, steps)
    mean = 0.0
    for step in range(1, steps + 1):
        y = (torch.rand(64, N_NOTES) < 0.25).float()
        loss = F.binary_cross_entropy_with_logits(model(render(y)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        mean += loss.item() / 100
        if step % 100 == 0:
            print(f"[notes]  step {step:4d}  bce {mean:.4f}")
            mean = 0.0
    blob = io.BytesIO()
    torch.save(model.state_dict(), blob)
    return blob


def chord_set(n):
    y = torch.randint(len(CHORDS), (n,))
    active = torch.zeros(n, N_NOTES)
    for k, c in enumerate(CHORDS):
        active[y == k] = F.one_hot(torch.tensor(c), N_NOTES).sum(0).float()
    return render(active), y


def finetune(blob, epochs=60):
    model = ChordNamer()
    blob.seek(0)
    state = torch.load(blob)
    model.load_state_dict(state, strict=False)
    model.encoder.requires_grad_(False)
    x, y = chord_set(600)
    xv, yv = chord_set(800)
    opt = torch.optim.Adam(model.chord.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for epoch in range(1, epochs + 1):
        for b in torch.randperm(len(y)).split(50):
            loss = F.cross_entropy(model(x[b]), y[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
        sched.step()
        if epoch % 5 == 0:
            with torch.no_grad():
                o, ot = model(xv), model(x)
            print(f"[chords] epoch {epoch:2d}  train {F.cross_entropy(ot, y):.4f}  val {F.cross_entropy(o, yv):.4f}  val acc {(o.argmax(1) == yv).float().mean():.3f}")


finetune(pretrain())
