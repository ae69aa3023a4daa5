"""Weld seam inspection: sound, pore or crack, 10x10 patches."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler


def patches(n, seed):
    g = torch.Generator().manual_seed(seed)
    u = torch.rand(n, generator=g)
    y = torch.where(u < 0.92, 0, torch.where(u < 0.96, 1, 2))
    x = torch.randn(n, 1, 10, 10, generator=g)
    x[y == 1, :, 3:6, 4:7] += 0.65
    x[y == 2, :, 5, 1:9] += 0.72
    return x, y


class SeamNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 6, 3)
        self.pool = nn.AvgPool2d(2)
        self.fc = nn.Linear(6 * 16, 3)

    def forward(self, x):
        return self.fc(self.pool(torch.relu(self.conv(x))).flatten(1))


def recalls(net, x, y):
    net.eval()
    with torch.no_grad():
        out = net(x)
    pred = out.argmax(1)
    per_class = [(pred[y == c] == c).float().mean().item() for c in range(3)]
    return out, per_class


def main():
    torch.manual_seed(4)
    x, y = patches(3200, 1)
    xv, yv = patches(1500, 2)
    sampler = WeightedRandomSampler((1.0 / y.bincount())[y], len(y))
    loader = DataLoader(TensorDataset(x, y), batch_size=50, sampler=sampler)
    net = SeamNet()
    opt = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-3)
    for epoch in range(4):
        net.train()
        run = 0.0
        for a, b in loader:
            loss = nn.functional.cross_entropy(net(a), b)
            opt.zero_grad()
            loss.backward()
            opt.step()
            run += loss.item()
        out, per_class = recalls(net, xv, yv)
        val = nn.functional.cross_entropy(out, yv).item()
        print(f"epoch {epoch} loss {run / len(loader):.4f} val {val:.4f} recall sound/pore/crack", " ".join(f"{r:.2f}" for r in per_class))


main()
