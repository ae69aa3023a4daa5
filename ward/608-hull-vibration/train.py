import torch
import torch.nn as nn
import torch.nn.functional as F

CFG = {"lr": 2e-3, "epochs": 8, "batch": 40, "amp": True, "seed": 52}


def hull(n, gen, sensors=6, length=32):
    """Vibration of a ship's hull at six sensors; target: speed through water (standardised)."""
    speed = torch.randn(n, generator=gen)
    t = torch.arange(length).float()
    freq = 0.5 + 0.12 * speed[:, None, None]
    lag = torch.arange(sensors)[None, :, None] * 0.5
    x = torch.sin(freq * t + lag + 6.28 * torch.rand(n, 1, 1, generator=gen)) * 1.3
    return x + 0.5 * torch.randn(n, sensors, length, generator=gen), speed


class HullNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv1d(6, 16, 5, padding=2), nn.Conv1d(16, 24, 5, stride=2, padding=2)
        self.fc = nn.Linear(24, 1)

    def forward(self, x):
        x = F.gelu(self.c2(F.gelu(self.c1(x))))
        return self.fc(x.mean(-1)).squeeze(-1)


def run(cfg):
    torch.manual_seed(cfg["seed"])
    gen = torch.Generator().manual_seed(cfg["seed"])
    x, y = hull(1000, gen)
    vx, vy = hull(300, gen)
    net = HullNet()
    optimizer = torch.optim.AdamW(net.parameters(), lr=cfg["lr"] * 2)
    curve = []
    for epoch in range(cfg["epochs"]):
        net.train()
        for rows in torch.randperm(len(x)).split(cfg["batch"]):
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=cfg["amp"]):
                pred = net(x[rows])
            loss = F.smooth_l1_loss(pred.float(), y[rows])
            loss.backward()
            optimizer.step()
            curve.append(loss.item())
        net.eval()
        with torch.no_grad():
            val = F.smooth_l1_loss(net(vx), vy).item()
        print(f"epoch {epoch + 1} train {sum(curve[-25:]) / 25:.4f} val {val:.4f}")


run(CFG)
