"""Beat classification (4 rhythm types) from single-lead windows; labels were collected from volunteers."""
import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(8)
torch.manual_seed(8)
N_CLASSES, LENGTH = 4, 96


def bump(t, centre, width, height):
    return height * np.exp(-0.5 * ((t - centre) / width) ** 2)


def beat(kind):
    t = np.arange(LENGTH)
    shift = rng.normal(0, 4)
    x = bump(t, 48 + shift, 2.2, 1.0 + 0.1 * rng.normal())                       # R
    x += bump(t, 70 + shift, 6, 0.3 + 0.05 * rng.normal())                         # T
    if kind == 0:
        x += bump(t, 30 + shift, 4, 0.25)
    elif kind == 1:                                                              # wide complex, no P
        x += bump(t, 52 + shift, 5.0, 0.5)
    elif kind == 2:                                                              # early P
        x += bump(t, 18 + shift, 4, 0.28)
    else:                                                                        # inverted T
        x += bump(t, 30 + shift, 4, 0.25) - bump(t, 70 + shift, 6, 0.55)
    return x + 0.05 * rng.normal(size=LENGTH) + 0.1 * np.sin(t / 30 + rng.uniform(0, 6))


def annotate(truth, skill):
    guess = rng.integers(0, N_CLASSES, len(truth))
    return np.where(rng.random(len(truth)) < skill, truth, guess)


def build(n):
    kinds = rng.integers(0, N_CLASSES, n)
    signals = np.stack([beat(k) for k in kinds]).astype("float32")
    return signals, kinds


signals, kinds = build(2400)
votes = np.stack([annotate(kinds, s) for s in (0.5, 0.85, 0.9, 0.8, 0.92)], 1)      # five volunteers per beat
val_signals, val_labels = build(600)                                           # read by a cardiologist

mean, std = signals.mean(), signals.std()
x_train = torch.from_numpy((signals - mean) / std).unsqueeze(1)
x_val = torch.from_numpy((val_signals - mean) / std).unsqueeze(1)
y_train = torch.from_numpy(votes[:, 0])
y_val = torch.from_numpy(val_labels)

model = nn.Sequential(
    nn.Conv1d(1, 24, 7, stride=2, padding=3), nn.BatchNorm1d(24), nn.ReLU(),
    nn.Conv1d(24, 48, 5, stride=2, padding=2), nn.BatchNorm1d(48), nn.ReLU(),
    nn.Conv1d(48, 48, 5, stride=2, padding=2), nn.ReLU(),
    nn.Flatten(), nn.Dropout(0.2), nn.Linear(48 * 12, N_CLASSES),
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-3)


def evaluate(x, y):
    model.eval()
    with torch.no_grad():
        out = model(x)
    return criterion(out, y).item(), (out.argmax(1) == y).float().mean().item()


for epoch in range(16):
    model.train()
    perm = torch.randperm(len(y_train))
    for i in range(0, len(perm), 48):
        idx = perm[i:i + 48]
        optimizer.zero_grad()
        criterion(model(x_train[idx]), y_train[idx]).backward()
        optimizer.step()
    if epoch % 2 == 1:
        tl, ta = evaluate(x_train, y_train)
        vl, va = evaluate(x_val, y_val)
        print(f"{epoch + 1:3d} | train {tl:.3f} / {ta:.3f} | val {vl:.3f} / {va:.3f}")
