"""Tell four operating modes of a pump apart from windows of its pressure sensor."""
import math
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class PumpWindows(Dataset):
    def __init__(self, n, seed, length=24):
        g = torch.Generator().manual_seed(seed)
        self.mode = torch.randint(0, 4, (n,), generator=g)
        t = torch.arange(length) / length
        freq = torch.tensor([0.0, 1.0, 5.0, 0.0])[self.mode][:, None]
        ramp = torch.tensor([2.0, 0.0, 0.0, -2.0])[self.mode][:, None]
        phase = 2 * math.pi * torch.rand(n, 1, generator=g)
        bar = 5 + torch.randn(n, 1, generator=g)
        self.raw = bar + (freq > 0) * torch.sin(2 * math.pi * freq * t + phase) + ramp * t + 0.15 * torch.randn(n, length, generator=g)
        frozen = torch.rand(n, generator=g) < 0.003          # transmitter repeats its last reading
        self.raw[frozen] = self.raw[frozen][:, :1].expand(-1, length)

    def __len__(self):
        return len(self.mode)

    def __getitem__(self, i):
        w = self.raw[i]
        w = 2 * (w - w.min()) / (w.max() - w.min()).clamp(min=0.1) - 1
        return w[:, None], self.mode[i]


class ModeLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 32, batch_first=True)
        self.head = nn.Linear(32, 4)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out.mean(1))


def main():
    torch.manual_seed(2)
    train = DataLoader(PumpWindows(1000, seed=30), batch_size=32, shuffle=True, num_workers=2, persistent_workers=True)
    val = DataLoader(PumpWindows(300, seed=31), batch_size=150)
    model = ModeLSTM()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(6):
        model.train()
        total = 0.0
        for x, y in train:
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            total += loss.item() / len(train)
        model.eval()
        with torch.no_grad():
            out = [(nn.functional.cross_entropy(model(x), y).item(), (model(x).argmax(1) == y).float().mean().item()) for x, y in val]
        print(f"epoch {epoch}: train {total:.4f} val {sum(o[0] for o in out) / 2:.4f} acc {sum(o[1] for o in out) / 2:.3f}")


if __name__ == "__main__":
    main()
