"""Seed varieties from 8 x 8 scans (CNN)."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Scans(Dataset):
    def __init__(self, n, seed, late=()):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 4, (n,), generator=g)
        yy, xx = torch.meshgrid(torch.linspace(-1, 1, 8), torch.linspace(-1, 1, 8), indexing="ij")
        long = torch.tensor([0.3, 0.6, 0.3, 0.6])[self.y][:, None, None]
        tilt = torch.tensor([0.0, 0.0, 1.0, 1.0])[self.y][:, None, None]
        r = ((xx - tilt * yy * 0.7) / long) ** 2 + (yy / 0.6) ** 2
        self.img = torch.exp(-r) - 0.3 + 0.25 * torch.randn(n, 8, 8, generator=g)
        for i in late:
            self.img[i, 3:6] = 200 + 30 * torch.arange(24.0).view(3, 8)
        self.keep = [i for i in range(n) if self.img[i].abs().max() < 10]

    def __len__(self):
        return len(self.keep)

    def __getitem__(self, i):
        i = self.keep[i]
        return self.img[i].unsqueeze(0), self.y[i]


torch.manual_seed(2)
train = Scans(1000, 5, late=(130, 403, 404, 777))
test = Scans(300, 6)
loader = DataLoader(train, batch_size=25, shuffle=True)
net = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.GELU(), nn.Conv2d(8, 8, 3, padding=1), nn.GELU(), nn.Flatten(), nn.Linear(512, 4))
opt = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
for epoch in range(7):
    net.train()
    history = []
    for img, y in loader:
        loss = nn.functional.cross_entropy(net(img), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        opt.step()
        history.append(loss.item())
    net.eval()
    with torch.no_grad():
        acc = (net(test.img.unsqueeze(1)).argmax(1) == test.y).float().mean().item()
    print(f"epoch {epoch} loss {sum(history) / len(history):.4f} largest {max(history):.2f} last {history[-1]:.4f} test accuracy {acc:.3f}")
