"""Elman network rolled out over drifting-buoy tracks."""
import torch
import torch.nn as nn
from torch.nn.utils import clip_grad_norm_

T, H, B = 40, 32, 64


def tracks(n, seed):
    g = torch.Generator().manual_seed(seed)
    u = torch.randn(n, T, 2, generator=g)
    keep = torch.rand(n, T, 1, generator=g) < 0.15
    u = torch.where(keep, u, torch.zeros(()))
    pos = torch.zeros(n, 2)
    out = []
    for t in range(T):
        pos = 0.95 * pos + 0.5 * u[:, t]
        out.append(pos)
    y = torch.stack(out, 1)
    return torch.cat([u, keep.float()], 2), y


class Elman(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(3, H, nonlinearity="relu", batch_first=True)
        self.readout = nn.Linear(H, 2)
        nn.init.eye_(self.rnn.weight_hh_l0)
        nn.init.normal_(self.rnn.weight_ih_l0, std=0.1)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.readout(h)


def main():
    torch.manual_seed(8)
    x, y = tracks(3000, 0)
    vx, vy = tracks(500, 1)
    net = Elman()
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    loss_fn = nn.MSELoss()
    for epoch in range(8):
        total = 0.0
        for idx in torch.randperm(len(x)).split(B):
            opt.zero_grad()
            loss = loss_fn(net(x[idx]), y[idx])
            loss.backward()
            clip_grad_norm_(net.parameters(), 10.0)
            opt.step()
            total += loss.item() * len(idx)
        with torch.no_grad():
            v = loss_fn(net(vx), vy).item()
        print(f"epoch {epoch + 1} train {total / len(x):.4f} val {v:.4f}")


if __name__ == "__main__":
    main()
