import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(12)
torch.manual_seed(12)
STEPS, GESTURES = 24, ["circle", "eight", "swipe", "zigzag", "tap"]


def gesture(kind):
    """Pen track (x, y, pressure) with a random start, size and speed."""
    t = np.linspace(0, 1, STEPS) ** rng.uniform(0.8, 1.25)
    size, turn = rng.uniform(0.7, 1.3), rng.choice([-1, 1])
    if kind == 0:
        x, y = np.cos(6.28 * t), turn * np.sin(6.28 * t)
    elif kind == 1:
        x, y = np.sin(6.28 * t), turn * np.sin(12.56 * t)
    elif kind == 2:
        x, y = 2 * t - 1, turn * 0.3 * t
    elif kind == 3:
        x, y = 2 * t - 1, turn * np.abs((t * 4) % 2 - 1)
    else:
        x, y = 0.05 * t, 0.05 * turn * t
    track = np.stack([size * x, size * y, 0.8 + 0 * t], 1)
    return track + rng.normal(0, 0.08, track.shape)


def dataset(n):
    kinds = rng.integers(0, 5, n)
    return torch.tensor(np.stack([gesture(k) for k in kinds]), dtype=torch.float32), torch.tensor(kinds)


class GestureGRU(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.gru = nn.GRU(3, hidden)
        self.fc = nn.Sequential(nn.Linear(hidden, 32), nn.ReLU(), nn.Linear(32, 5))

    def forward(self, x):
        batch, steps, feats = x.shape
        seq = x.view(steps, batch, feats)
        out, _ = self.gru(seq)
        return self.fc(out[-1])


X, y = dataset(1500)
X_val, y_val = dataset(400)
model = GestureGRU()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(1, 21):
    model.train()
    losses = []
    for idx in torch.randperm(len(X)).split(50):
        loss = loss_fn(model(X[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        acc = (model(X_val).argmax(1) == y_val).float().mean().item()
    if epoch % 2 == 0:
        print(f"epoch {epoch:2d} loss {np.mean(losses):.4f} val acc {acc:.3f}")
