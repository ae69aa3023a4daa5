"""Room occupancy from CO2, humidity and noise; windows are normalised by each worker."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Windows(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(0, 3, (n,), generator=g)
        slope = torch.tensor([0.0, 0.6, 1.5])[self.y][:, None]
        t = torch.linspace(0, 1, 16)
        co2 = 1.0 + slope * t + 0.4 * torch.randn(n, 16, generator=g)
        noise = 0.1 * (self.y[:, None] + 5) * torch.rand(n, 16, generator=g)
        humidity = 0.5 + 0.1 * torch.randn(n, 16, generator=g)
        self.raw = torch.stack([co2, noise, humidity], 1)
        off = torch.rand(n, generator=g) < 0.002             # microphone unplugged
        self.raw[off, 1] = 0.0

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        w = self.raw[i]
        level = w[1].max()
        w = torch.stack([w[0] - 1.0, w[1] / level.clamp(min=1e-3), 2 * w[2] - 1, w[1]])
        return w, self.y[i]


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Conv1d(4, 24, 3, padding=1), nn.GELU(), nn.Conv1d(24, 24, 3, padding=1, stride=2), nn.GELU())
        self.out = nn.Linear(24, 3)

    def forward(self, w):
        return self.out(self.f(w).mean(2))


def run():
    torch.manual_seed(4)
    loader = DataLoader(Windows(1100, 8), batch_size=25, shuffle=True, num_workers=2, persistent_workers=True)
    held = DataLoader(Windows(200, 10), batch_size=200)
    model = ConvNet()
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for epoch in range(4):
        model.train()
        tot = 0.0
        for w, y in loader:
            loss = nn.functional.cross_entropy(model(w), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item() / len(loader)
        model.eval()
        with torch.no_grad():
            (w, y), = held
            acc = (model(w).argmax(1) == y).float().mean().item()
        print(f"epoch {epoch} loss {tot:.4f} accuracy {acc:.3f}")


if __name__ == "__main__":
    run()
