"""Mode of a melody (four church modes): tiny transformer encoder over notes."""
import torch
from torch import nn

MODES = {"dorian": [0, 2, 3, 5, 7, 9, 10], "lydian": [0, 2, 4, 6, 7, 9, 11], "phrygian": [0, 1, 3, 5, 7, 8, 10], "mixolydian": [0, 2, 4, 5, 7, 9, 10]}


def compose(per_mode, g, length=14):
    notes, labels = [], []
    for k, scale in enumerate(MODES.values()):
        tune = torch.tensor(scale)[torch.randint(7, (per_mode, length), generator=g)]
        slip = torch.rand(per_mode, length, generator=g) < 0.08
        notes.append(torch.where(slip, torch.randint(12, (per_mode, length), generator=g), tune))
        labels += [k] * per_mode
    return torch.cat(notes), torch.tensor(labels)


class ModeNet(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.note = nn.Embedding(12, dim)
        self.block = nn.TransformerEncoderLayer(dim, 4, 48, dropout=0.0, batch_first=True, norm_first=True)
        self.out = nn.Linear(dim, 4)

    def forward(self, notes):
        return self.out(self.block(self.note(notes)).mean(1))


class Fitter:
    def __init__(self, model, lr):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss = nn.CrossEntropyLoss()

    def epoch(self, notes, labels, size=16):
        self.model.train()
        losses = []
        order = torch.randperm(len(notes))
        for i in range(0, len(notes), size):
            x, y = notes[order[i:i + size]], labels[order[i:i + size]]
            loss = self.loss(self.model(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    def check(self, notes, labels):
        self.model.eval()
        with torch.no_grad():
            out = self.model(notes)
        return self.loss(out, labels).item(), (out.argmax(1) == labels).float().mean().item()


torch.manual_seed(33)
g = torch.Generator().manual_seed(33)
train, val = compose(320, g), compose(80, g)
fitter = Fitter(ModeNet(), lr=4e-3)
for epoch in range(3):
    loss = fitter.epoch(*train)
    val_loss, acc = fitter.check(*val)
    print(f"epoch {epoch}: train {loss:.4f}, val {val_loss:.4f}, acc {acc:.3f}")
