import torch
import torch.nn as nn

torch.manual_seed(66)
DAYS = 14


def diaries(n):
    """Mood, sleep and steps per day; about a third of the entries were not filled in (marked by False in kept)."""
    t = torch.arange(DAYS).float()
    phase, pace = torch.rand(n, 1) * 6.28, 0.3 + 0.5 * torch.rand(n, 1)
    base = torch.sin(pace * t + phase)
    full = torch.stack([base, base.roll(1, 1) * 0.8, base ** 2 - 0.5], -1) + 0.1 * torch.randn(n, DAYS, 3)
    kept = torch.rand(n, DAYS) > 0.35
    kept[torch.rand(n) < 0.02] = True                                   # a few complete diaries
    return full, kept


class Imputer(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(4, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, 3)

    def forward(self, full, kept):
        k = kept.unsqueeze(-1).float()
        x = torch.cat([torch.where(kept.unsqueeze(-1), full, torch.zeros_like(full)), k], -1)
        return self.out(self.rnn(x)[0])


def gap_loss(pred, full, kept):
    gap = (~kept).float()
    per_entry = (pred - full).pow(2).mean(-1)
    return ((per_entry * gap).sum(1) / gap.sum(1).clamp(min=1)).mean()


model = Imputer()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
val = diaries(300)
skipped, recent = 0, []
for step in range(1, 161):
    full, kept = diaries(32)
    loss = gap_loss(model(full, kept), full, kept)
    if not torch.isfinite(loss):
        skipped += 1
        continue
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    recent.append(loss.item())
    if step % 16 == 0:
        with torch.no_grad():
            v = gap_loss(model(*val), *val).item()
        print(f"step {step:3d} gaps {sum(recent[-16:]) / len(recent[-16:]):.4f} val {v:.4f} skipped {skipped}")
