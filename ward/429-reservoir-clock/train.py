"""Echo-state style net run over a long stream: the recurrent matrix is fixed, input and readout weights are trained online."""
import math

import torch
import torch.nn as nn


class Reservoir(nn.Module):
    def __init__(self, inputs=1, size=60, radius=0.85):
        super().__init__()
        w = torch.randn(size, size) / math.sqrt(size)
        w *= radius / torch.linalg.eigvals(w).abs().max()
        self.register_buffer("w_rec", w)
        self.w_in = nn.Parameter(torch.randn(size, inputs) * 0.5)
        self.readout = nn.Linear(size, 1)

    def forward(self, chunk, h):
        out = []
        for x in chunk:
            h = torch.tanh(self.w_rec @ h + self.w_in @ x)
            out.append(self.readout(h))
        return torch.cat(out), h


def stream(length, gen):
    t = torch.arange(length + 1).float()
    s = 0.6 * torch.sin(0.37 * t) + 0.4 * torch.sin(0.91 * t + 1.0) + 0.03 * torch.randn(length + 1, generator=gen)
    return s[:-1, None], s[1:]


if __name__ == "__main__":
    torch.manual_seed(33)
    CHUNK, CHUNKS = 8, 105
    x, y = stream(CHUNK * CHUNKS, torch.Generator().manual_seed(5))
    net = Reservoir()
    optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
    h = torch.zeros(60)
    recent = []
    for k in range(CHUNKS):
        part = slice(k * CHUNK, (k + 1) * CHUNK)
        pred, h = net(x[part], h)
        loss = (pred - y[part]).pow(2).mean()
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        recent.append(loss.item())
        if (k + 1) % 15 == 0:
            print(f"chunk {k + 1:3d}  next-value error {sum(recent) / len(recent):.4f}")
            recent = []
