import torch
import torch.nn as nn

USERS, LENGTH = 4, 40


def typing(n, gen):
    """Pauses between key strokes: every user has a rhythm of their own, started at a random phase."""
    who = torch.randint(0, USERS, (n,), generator=gen)
    t = torch.arange(LENGTH)[None]
    period = torch.tensor([3.0, 5.0, 9.0, 18.0])[who][:, None]
    phase = torch.rand(n, 1, generator=gen) * 6.28
    pauses = torch.sin(6.2832 * t / period + phase) + 0.2 * torch.randn(n, LENGTH, generator=gen)
    return torch.stack([pauses, pauses.diff(dim=1, prepend=pauses[:, :1])], dim=2), who


class ResidualCell(nn.Module):
    def __init__(self, n_in, hidden):
        super().__init__()
        self.x2h = nn.Linear(n_in, hidden)
        self.h2h = nn.Linear(hidden, hidden)
        self.back = nn.Linear(hidden, hidden)

    def forward(self, x, h):
        return h + self.back(torch.relu(self.x2h(x) + self.h2h(h)))


class TypistNet(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.hidden = hidden
        self.cell = ResidualCell(2, hidden)
        self.out = nn.Linear(hidden, USERS)

    def forward(self, x):
        h = x.new_zeros(len(x), self.hidden)
        for t in range(x.shape[1]):
            h = self.cell(x[:, t], h)
        return self.out(h)


if __name__ == "__main__":
    torch.manual_seed(1)
    gen = torch.Generator().manual_seed(1)
    xv, yv = typing(200, gen)
    model = TypistNet()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(1, 169):
        x, y = typing(32, gen)
        loss = nn.functional.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 14 == 0:
            with torch.no_grad():
                out = model(xv)
            val = nn.functional.cross_entropy(out, yv).item()
            print(f"step {step:3d} loss {loss.item():.4f} val {val:.4f} acc {(out.argmax(1) == yv).float().mean():.3f}")
