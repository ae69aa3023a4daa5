"""Arrival picking: which of 12 windows of a trace holds the P onset."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(19)
LENGTH, BINS, DEPTH = 48, 12, 20


def traces(n):
    onset = torch.randint(2, LENGTH - 2, (n,))
    t = torch.arange(LENGTH).float()
    dt = t[None] - onset[:, None]
    wave = torch.exp(-dt.clamp(min=0) / 6) * torch.sin(dt * 1.7 + 0.5) * (dt >= 0) * 2.5
    x = wave + 0.8 * torch.randn(n, LENGTH)
    return x.unsqueeze(1), onset // (LENGTH // BINS)


class Picker(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.stem = nn.Conv1d(1, width, 5, padding=2)
        self.layers = nn.ModuleList([nn.Conv1d(width, width, 3, padding=1) for _ in range(DEPTH)])
        self.pool = nn.AvgPool1d(LENGTH // BINS)
        self.score = nn.Conv1d(width, 1, 1)

    def forward(self, x):
        x = torch.tanh(self.stem(x))
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return self.score(self.pool(x)).squeeze(1)


def main():
    model = Picker()
    opt = torch.optim.SGD(model.parameters(), lr=0.004, momentum=0.9)
    test_x, test_y = traces(400)
    tally = []
    for i in range(180):
        x, y = traces(32)
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tally.append(loss.item())
        if (i + 1) % 20 == 0:
            with torch.no_grad():
                acc = (model(test_x).argmax(1) == test_y).float().mean().item()
            print(f"{i + 1:4d}  loss {sum(tally) / len(tally):.4f}  picks within the right window {acc:.3f}")
            tally.clear()


if __name__ == "__main__":
    main()
