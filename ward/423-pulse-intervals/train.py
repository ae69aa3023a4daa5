"""Rest / walk / run from beat-to-beat intervals."""
import torch
import torch.nn as nn


def subjects(n, gen):
    state = torch.randint(0, 3, (n,), generator=gen)
    mean = torch.tensor([0.95, 0.72, 0.48])[state]
    wobble = torch.tensor([0.07, 0.05, 0.03])[state]
    beats = mean[:, None] + wobble[:, None] * torch.randn(n, 20, generator=gen) + 0.06 * torch.randn(n, 1, generator=gen)
    beats[torch.rand(n, generator=gen) < 0.08] = 0.0              # the strap lost contact
    return beats, state


class BeatNet(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.rnn = nn.GRU(2, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 3)

    def forward(self, beats):
        centre = beats.mean(1, keepdim=True)
        shape = (beats - centre) / (beats.std(1, keepdim=True))
        level = ((centre - 0.72) / 0.2).expand_as(beats)
        _, h = self.rnn(torch.stack([shape, level], dim=2))
        return self.fc(h[-1])


class Loop:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss_fn = nn.CrossEntropyLoss()

    def epoch(self, x, y, batch):
        self.model.train()
        losses = []
        for rows in torch.randperm(len(x)).split(batch):
            loss = self.loss_fn(self.model(x[rows]), y[rows])
            if torch.isnan(loss):
                continue
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return sum(losses) / max(1, len(losses))

    @torch.no_grad()
    def accuracy(self, x, y):
        self.model.eval()
        return (self.model(x).argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(15)
    gen = torch.Generator().manual_seed(15)
    x, y = subjects(1200, gen)
    vx, vy = subjects(400, gen)
    loop = Loop(BeatNet(), lr=5e-3)
    for k in range(6):
        print(f"epoch {k + 1}: loss {loop.epoch(x, y, 40):.4f} val accuracy {loop.accuracy(vx, vy):.3f}")
