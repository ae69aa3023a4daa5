"""Which of five soil bacteria does a 60-letter sequencing read come from?

The reads lie in one FASTA-like list per genome; a generator hands them out in batches.
"""
import random

import torch
from torch import nn

SPECIES = ["b.subtilis", "p.putida", "s.coelicolor", "r.etli", "a.brasilense"]
BASES = "ACGT"
READ = 60

random.seed(8)
torch.manual_seed(8)


def genome(i):
    """A base composition and a favourite motif per species."""
    r = random.Random(100 + i)
    weights = [1 + 0.35 * r.random() for _ in BASES]
    motif = "".join(r.choice(BASES) for _ in range(7))
    return weights, motif


def sequence(weights, motif, n):
    reads = []
    for _ in range(n):
        s = random.choices(BASES, weights, k=READ)
        for _ in range(random.randint(1, 2)):
            at = random.randrange(READ - len(motif))
            s[at:at + len(motif)] = [b if random.random() > 0.05 else random.choice(BASES) for b in motif]
        reads.append("".join(s))
    return reads


def read_fasta(reads_per_species):
    records = []
    for label in range(len(SPECIES)):
        weights, motif = genome(label)
        records += [(read, label) for read in sequence(weights, motif, reads_per_species)]
    return records


def one_hot(reads):
    idx = torch.tensor([[BASES.index(b) for b in r] for r in reads])
    return nn.functional.one_hot(idx, 4).float().transpose(1, 2)


def batches(records, size):
    for start in range(0, len(records), size):
        chunk = records[start:start + size]
        yield one_hot([r for r, _ in chunk]), torch.tensor([label for _, label in chunk])


class ReadNet(nn.Module):
    def __init__(self, filters=32):
        super().__init__()
        self.scan = nn.Conv1d(4, filters, 9, padding=4)
        self.head = nn.Sequential(nn.Linear(filters, 32), nn.ReLU(), nn.Linear(32, len(SPECIES)))

    def forward(self, x):
        return self.head(self.scan(x).relu().amax(dim=-1))


train_records = read_fasta(360)
val_records = read_fasta(60)
model = ReadNet()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(8):
    model.train()
    losses = []
    for x, y in batches(random.sample(train_records, len(train_records)), 36):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        out = [(model(x), y) for x, y in batches(val_records, 100)]
        val_loss = sum(criterion(o, y).item() * len(y) for o, y in out) / len(val_records)
        val_acc = sum((o.argmax(1) == y).sum().item() for o, y in out) / len(val_records)
    print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f} (last batch {losses[-1]:.4f})  val loss {val_loss:.4f}  val acc {val_acc:.3f}")
