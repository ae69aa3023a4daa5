import torch
import torch.nn as nn

torch.manual_seed(9)


class DropoutNet(nn.Module):
    """Predictive mean and spread from several stochastic passes (Gal & Ghahramani)."""

    def __init__(self, p=0.1):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(4, 64), nn.ReLU(), nn.Dropout(p),
            nn.Linear(64, 64), nn.ReLU(), nn.Dropout(p), nn.Linear(64, 1))

    def forward(self, x):
        return self.body(x)

    @torch.no_grad()
    def mc_predict(self, x, passes=20):
        self.train()  # keep dropout sampling
        out = torch.stack([self(x) for _ in range(passes)])
        return out.mean(0), out.std(0)


def make(n):
    x = torch.rand(n, 4) * 2 - 1
    y = torch.sin(3 * x[:, :1]) + x[:, 1:2] * x[:, 2:3] + 0.1 * torch.randn(n, 1)
    return x, y


x, y = make(1500)
xv, yv = make(500)
net = DropoutNet()
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.StepLR(opt, step_size=12, gamma=0.2)
for epoch in range(20):
    net.train()
    tot = 0.0
    for i in torch.randperm(len(x)).split(75):
        loss = nn.functional.mse_loss(net(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(i) / len(x)
    sched.step()
    mean, spread = net.mc_predict(xv)
    if epoch % 2 == 1:
        rmse = (mean - yv).pow(2).mean().sqrt().item()
        cover = ((mean - yv).abs() < 2 * (spread ** 2 + 0.01).sqrt()).float().mean().item()
        print(f"epoch {epoch + 1:2d} train mse {tot:.4f} mc rmse {rmse:.4f} spread {spread.mean().item():.3f} coverage {cover:.2f}")
