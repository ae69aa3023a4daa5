"""Activity recognition from a wrist accelerometer. One recording = one person doing one thing."""
from collections import namedtuple
import math

import numpy as np
import torch
from torch import nn

Recording = namedtuple("Recording", "windows label person")
ACTIVITIES = ["sit", "walk", "run", "stairs", "cycle"]
RATE = {"sit": 0.0, "walk": 1.8, "run": 2.7, "stairs": 1.5, "cycle": 1.2}
FORCE = {"sit": 0.05, "walk": 0.5, "run": 1.1, "stairs": 0.6, "cycle": 0.35}
rng = np.random.default_rng(6)


def record(person, activity, n_windows=12, length=50):
    t = np.arange(n_windows * length) / 25
    rate = RATE[activity] * rng.normal(1, 0.07)
    force = FORCE[activity] * rng.normal(1, 0.15)
    tilt = {"sit": 0.9, "cycle": 0.5}.get(activity, 0.1) + rng.normal(0, 0.15)
    gait = np.stack([np.sin(2 * math.pi * rate * t + p) + 0.4 * np.sin(4 * math.pi * rate * t + p) for p in (0, 0.8, 1.9)])
    if activity == "stairs":
        gait[2] += 0.6 * np.abs(np.sin(math.pi * rate * t))
    sig = force * gait + np.array([[math.sin(tilt)], [0.0], [math.cos(tilt)]]) + rng.normal(0, 0.18, (3, len(t)))
    windows = sig.reshape(3, n_windows, length).transpose(1, 0, 2)
    return Recording(torch.tensor(windows, dtype=torch.float32), ACTIVITIES.index(activity), person)


people = range(36)
recordings = [record(p, a) for p in people for a in ACTIVITIES]
train_set = [r for r in recordings if r.person < 27]
test_set = [r for r in recordings if r.person >= 27]


class WristNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(3, 16, 5, padding=2), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(16, 32, 5, padding=2), nn.BatchNorm1d(32), nn.ReLU(), nn.AdaptiveAvgPool1d(4))
        self.cls = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(128, len(ACTIVITIES)))

    def forward(self, x):
        return self.cls(self.body(x))


@torch.no_grad()
def evaluate(net, recs):
    """Share of windows and of whole recordings (majority vote) that are right."""
    win, rec = [], []
    for r in recs:
        votes = net(r.windows).argmax(1)
        win.append((votes == r.label).float().mean().item())
        rec.append(float(votes.mode().values.item() == r.label))
    return np.mean(win), np.mean(rec)


torch.manual_seed(6)
X = torch.cat([r.windows for r in train_set])
Y = torch.tensor([r.label for r in train_set for _ in r.windows])
net = WristNet()
opt = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=1e-2)
for epoch in range(15):
    net.train()
    losses = []
    for idx in torch.randperm(len(Y)).split(64):
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(X[idx]), Y[idx])
        loss.backward()
        opt.step()
        losses.append(loss.item())
    w, r = evaluate(net, test_set)
    print(f"epoch {epoch + 1:2d}  loss {np.mean(losses):.4f}  windows {w:.3f}  recordings {r:.3f}")
