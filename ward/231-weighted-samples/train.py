import torch
import torch.nn as nn

torch.manual_seed(0)

# 3-channel signals; each record comes with its own measurement confidence
N, L = 2000, 16
t = torch.linspace(0, 1, L)
freq = torch.rand(N, 1, 1) * 2 + 1
phase = torch.rand(N, 3, 1) * 0.5
amp = torch.tensor([1.0, 3.0, 0.5]).view(3, 1)
signal = amp * torch.sin(6.28 * (freq * t + phase)) + 0.05 * torch.randn(N, 3, L)
conf = torch.rand(N, 1) * 0.9 + 0.1
target = freq.view(N, 1) + 0.1 / conf.sqrt() * torch.randn(N, 1)
mu, sd = target[:1500].mean(), target[:1500].std()
target = (target - mu) / sd


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(1 / signal[:1500].std(dim=(0, 2)).view(3, 1))
        self.conv = nn.Sequential(nn.Conv1d(3, 16, 5, padding=2), nn.ReLU(), nn.Conv1d(16, 16, 5, padding=2), nn.ReLU())
        self.out = nn.Sequential(nn.Flatten(), nn.Linear(16 * L, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.out(self.conv(x * self.gain))


def weighted_mse(pred, y, w):
    per_sample = (pred - y) ** 2
    return (w * per_sample).sum() / w.sum()


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.MultiStepLR(opt, [7], gamma=0.2)
for epoch in range(10):
    net.train()
    s = 0.0
    for i in torch.randperm(1500).split(75):
        loss = weighted_mse(net(signal[i]), target[i], conf[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        s += loss.item() / 20
    sched.step()
    net.eval()
    with torch.no_grad():
        v = weighted_mse(net(signal[1500:]), target[1500:], conf[1500:]).item()
    print(f"epoch {epoch:2d} train {s:.4f} val {v:.4f}")
