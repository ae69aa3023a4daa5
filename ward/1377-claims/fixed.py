# motor insurance: expected claim from policy features; a few claims are very large
import torch
import torch.nn as nn


def policies(n, g):
    age = torch.rand(n, generator=g) * 2 - 1
    power = torch.randn(n, generator=g)
    region = torch.randint(0, 5, (n,), generator=g)
    bonus = torch.rand(n, generator=g)
    mean = 1.0 + 0.8 * age ** 2 + 0.5 * torch.relu(power) - 0.9 * bonus + torch.tensor([0.0, 0.4, -0.3, 0.7, 0.1])[region]
    y = mean + 0.3 * torch.randn(n, generator=g)
    big = torch.rand(n, generator=g) < 0.0015
    y = torch.where(big, y * (45 + 90 * torch.rand(n, generator=g)), y)
    x = torch.cat([torch.stack([age * 1.7, power, (bonus - 0.5) * 3.4], 1), nn.functional.one_hot(region, 5).float()], 1)
    return x, y, mean


class Tariff(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.layers(x).squeeze(-1)


def fit():
    torch.manual_seed(60)
    g = torch.Generator().manual_seed(60)
    x, y, _ = policies(8000, g)
    vx, _, vmean = policies(2000, g)
    model = Tariff()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [10, 15], gamma=0.3)
    for epoch in range(18):
        losses = []
        for idx in torch.randperm(len(x)).split(40):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x[idx]), y[idx])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
        with torch.no_grad():
            err = (model(vx) - vmean).pow(2).mean().sqrt().item()
        med = sorted(losses)[len(losses) // 2]
        print(f"epoch {epoch + 1:2d}  median batch loss {med:.3f}  largest {max(losses):.1f}  error of the tariff {err:.3f} (constant: {vmean.std():.3f})")


if __name__ == "__main__":
    fit()
