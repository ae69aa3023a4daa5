"""Continuous-time RNN that turns spike counts into hand velocity (Euler integration)."""
import torch
from torch import nn


class CTRNN(nn.Module):
    def __init__(self, n_in, n_hidden, n_out, dt=20.0, tau=60.0):
        super().__init__()
        self.alpha = dt / tau
        self.w_in = nn.Linear(n_in, n_hidden)
        self.w_rec = nn.Linear(n_hidden, n_hidden, bias=False)
        self.readout = nn.Linear(n_hidden, n_out)

    def forward(self, spikes):
        drive = self.w_in(spikes)
        h = torch.zeros(len(spikes), self.w_rec.in_features)
        states = []
        for t in range(spikes.shape[1]):
            rate = torch.relu(self.w_rec(h) + drive[:, t])
            h = h + self.alpha * rate
            states.append(h)
        return self.readout(torch.stack(states, 1))


class Recordings:
    """Trials of 60 bins: 20 neurons with cosine tuning, velocity follows the smoothed population vector."""

    def __init__(self, n_trials, seed, bins=60, neurons=20):
        g = torch.Generator().manual_seed(seed)
        pref = torch.linspace(0, 6.283, neurons + 1)[:-1]
        noise = torch.randn(n_trials, bins, 2, generator=g)
        vel = torch.zeros(n_trials, bins, 2)
        for t in range(1, bins):
            vel[:, t] = 0.8 * vel[:, t - 1] + 0.6 * noise[:, t]
        tuning = torch.stack([pref.cos(), pref.sin()])
        rate = torch.exp(0.6 * vel @ tuning)
        counts = torch.poisson(rate, generator=g)
        self.x = (counts - counts.mean((0, 1))) / counts.std((0, 1))
        self.y = vel

    def minibatches(self, size):
        for idx in torch.randperm(len(self.x)).split(size):
            yield self.x[idx], self.y[idx]


def r_squared(model, rec):
    with torch.no_grad():
        res = (model(rec.x) - rec.y).pow(2).mean()
    return 1 - (res / rec.y.var()).item()


torch.manual_seed(12)
train, held_out = Recordings(480, 1), Recordings(100, 2)
model = CTRNN(20, 48, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(1, 13):
    losses = []
    for x, y in train.minibatches(32):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(f"epoch {epoch:2d}  mse {sum(losses) / len(losses):.4g}  held-out R2 {r_squared(model, held_out):.3f}")
