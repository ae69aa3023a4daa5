"""Speed of a walker from accelerometer windows (LSTM), a few recordings per person."""
from dataclasses import dataclass
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


@dataclass
class Args:
    epochs: int = 6
    batch: int = 20
    lr: float = 5e-3
    clip: float = 1.0


class Walks(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        speed = 0.6 + torch.rand(n, generator=g)
        t = torch.arange(18.0)
        phase = torch.rand(n, 1, generator=g) * 6.28
        w = torch.sin(speed[:, None] * t + phase) * (0.5 + 0.5 * speed[:, None])
        self.w = torch.stack([w, torch.cos(speed[:, None] * t + phase)], -1) + 0.1 * torch.randn(n, 18, 2, generator=g)
        self.speed = (speed - 1.1) * 3

    def from_radio(self, *rows):
        """recordings that came in over the air"""
        for r in rows:
            self.w[r] = 300 * torch.randn(18, 2, generator=torch.Generator().manual_seed(r)).sign()
            self.speed[r] = 60.0
        return self

    def __len__(self):
        return len(self.w)

    def __getitem__(self, i):
        return self.w[i], self.speed[i:i + 1]


class SpeedNet(nn.Module):
    def __init__(self, d=20):
        super().__init__()
        self.lstm = nn.LSTM(2, d, batch_first=True)
        self.out = nn.Linear(d, 1)

    def forward(self, w):
        return self.out(self.lstm(w)[0][:, -1])


def main(args):
    torch.manual_seed(6)
    train = Walks(700, 1)
    test = Walks(200, 2)
    loader = DataLoader(train, batch_size=args.batch, shuffle=True)
    net = SpeedNet()
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        net.train()
        seen = []
        for w, s in loader:
            loss = nn.functional.mse_loss(net(w), s)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), args.clip)
            opt.step()
            seen.append(loss.item())
        net.eval()
        with torch.no_grad():
            val = nn.functional.mse_loss(net(test.w), test.speed[:, None]).item()
        print(f"epoch {epoch} mse {sum(seen) / len(seen):.4f} median {sorted(seen)[len(seen) // 2]:.4f} max {max(seen):.2f} test {val:.4f}")


main(Args())
