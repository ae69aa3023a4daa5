import math
from collections import defaultdict

import torch
import torch.nn as nn
import torch.nn.functional as F

NOTES, BAR, STEPS, BATCH = 64, 40, 400, 32
torch.manual_seed(4)


class Melodies:
    """Endless melodies: a random walk on a scale that likes to return to the tonic."""

    def __init__(self, seed):
        g = torch.Generator().manual_seed(99)
        move = torch.zeros(NOTES, NOTES)
        for d, w in ((-7, 0.3), (-2, 1.0), (-1, 2.0), (0, 0.6), (1, 2.0), (2, 1.0), (5, 0.4), (12, 0.2)):
            idx = torch.arange(NOTES)
            move[idx, (idx + d) % NOTES] += w * (0.2 + torch.rand(NOTES, generator=g))
        move[:, 32] += 0.5
        self.table = move / move.sum(1, keepdim=True)
        self.g = torch.Generator().manual_seed(seed)

    def batch(self, n):
        note = torch.randint(0, NOTES, (n,), generator=self.g)
        out = [note]
        for _ in range(BAR):
            note = torch.multinomial(self.table[note], 1, generator=self.g)[:, 0]
            out.append(note)
        seq = torch.stack(out, 1)
        return seq[:, :-1], seq[:, 1:]


class NoteModel(nn.Module):
    def __init__(self, dim=48, hidden=64):
        super().__init__()
        self.emb = nn.Embedding(NOTES, dim)
        self.rnn = nn.GRU(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, NOTES)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


class History:
    def __init__(self):
        self.values = defaultdict(list)

    def log(self, **metrics):
        for name, value in metrics.items():
            self.values[name].append(value)

    def mean(self, name, last):
        tail = self.values[name][-last:]
        return sum(tail) / len(tail)


def entropy(logits):
    logp = F.log_softmax(logits, dim=-1)
    return -(logp.exp() * logp).sum(-1).mean()


train, valid = Melodies(1), Melodies(2)
xv, yv = valid.batch(300)
model, history = NoteModel(), History()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, (s + 1) / 25) * 0.5 * (1 + math.cos(math.pi * s / STEPS)))
for step in range(1, STEPS + 1):
    x, y = train.batch(BATCH)
    logits = model(x)
    loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    opt.step()
    sched.step()
    history.log(loss=loss.item(), entropy=entropy(logits).item())
    if step % 50 == 0:
        with torch.no_grad():
            vloss = F.cross_entropy(model(xv).flatten(0, 1), yv.flatten()).item()
        print(f"step {step:4d}  loss {history.mean('loss', 50):.4f}  entropy {history.mean('entropy', 50):.4f}  valid {vloss:.4f}")
