"""LSTM on bursts: the gradient norm spikes now and then, and clipping at its 95th percentile deals with it."""
import torch
import torch.nn as nn

torch.manual_seed(17)


def bursts(n, length=20):
    x = 0.6 * torch.randn(n, length, 2)
    storm = torch.rand(n) < 0.02
    x[storm] *= 5
    gate = (x[:, :, 1] > 0).float()
    y = (x[:, :, 0] * gate).cumsum(1) * 0.25
    return x, y.unsqueeze(-1)


class Net(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.lstm = nn.LSTM(2, d, batch_first=True)
        self.out = nn.Linear(d, 1)

    def forward(self, x):
        return self.out(self.lstm(x)[0])


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=6e-3)
norms = []
for step in range(1, 181):
    x, y = bursts(32)
    loss = nn.functional.mse_loss(net(x), y)
    opt.zero_grad()
    loss.backward()
    limit = 1.0 if len(norms) < 20 else torch.tensor(norms).quantile(0.95).item()
    norms.append(nn.utils.clip_grad_norm_(net.parameters(), limit).item())
    opt.step()
    if step % 18 == 0 or step == 1:
        print(f"step {step:3d} loss {loss.item():.4f} gradient norm {norms[-1]:.3f} largest so far {max(norms):.2f} limit {limit:.3f}")
