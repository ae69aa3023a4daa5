"""Gaps between the notes of a melody: log-normal model on top of a GRU."""
import torch
import torch.nn as nn

torch.manual_seed(15)


def melodies(n, length=16):
    beat = 0.25 * torch.exp(0.3 * torch.randn(n, 1))
    pattern = torch.tensor([1.0, 1.0, 2.0, 0.5])[(torch.arange(length + 1) + torch.randint(0, 4, (n, 1))) % 4]
    gap = beat * pattern * torch.exp(0.1 * torch.randn(n, length + 1))
    chord = torch.rand(n, length + 1) < 0.006                # two notes at the same moment
    return gap.masked_fill(chord, 0.0)


class GapModel(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.gru = nn.GRU(1, d, batch_first=True)
        self.head = nn.Linear(d, 2)

    def forward(self, gap):
        h, _ = self.gru(gap[:, :-1, None] * 3 - 1)
        mu, log_sigma = self.head(h).unbind(-1)
        return mu, log_sigma.clamp(-4, 3)

    def nll(self, gap):
        mu, log_sigma = self(gap)
        t = torch.log(gap[:, 1:])
        return (0.5 * ((t - mu) / log_sigma.exp()) ** 2 + log_sigma).mean()


model = GapModel()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
done = 0
for step in range(1, 201):
    loss = model.nll(melodies(24))
    if not torch.isfinite(loss):
        continue
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    opt.step()
    done += 1
    if done % 10 == 0:
        print(f"step {step:3d} nll {loss.item():.4f}")
with torch.no_grad():
    gap = melodies(400)
    mu, _ = model(gap)
    ok = gap[:, 1:] > 0
    print(f"end of run, mean error of log gap {(mu - gap[:, 1:].clamp(min=1e-6).log())[ok].abs().mean().item():.4f}")
