import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

VOCAB, TOPICS, LENGTH = 400, 5, 240


class Reviews(Dataset):
    """Long bags of word ids; every topic prefers its own forty words."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        favourites = torch.randperm(VOCAB, generator=torch.Generator().manual_seed(99))[: TOPICS * 40].view(TOPICS, 40)
        self.y = torch.randint(0, TOPICS, (n,), generator=g)
        self.x = torch.randint(0, VOCAB, (n, LENGTH), generator=g)
        swap = torch.rand(n, LENGTH, generator=g) < 0.1
        own = favourites[self.y].gather(1, torch.randint(0, 40, (n, LENGTH), generator=g))
        self.x = torch.where(swap, own, self.x)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class BagOfWords(nn.Module):
    def __init__(self, dim=32, hidden=32):
        super().__init__()
        self.words = nn.Embedding(VOCAB, dim)
        self.scale = dim ** 0.5
        self.mix = nn.Linear(dim, hidden)
        self.mix2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, TOPICS)

    def forward(self, ids):
        words = self.scale * self.words(ids)
        h = torch.tanh(self.mix(words.sum(dim=1)))
        h = torch.tanh(self.mix2(h))
        return self.out(h)


torch.manual_seed(4)
train = DataLoader(Reviews(1600, 1), batch_size=32, shuffle=True)
test = DataLoader(Reviews(400, 2), batch_size=200)
model = BagOfWords()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
ce = nn.CrossEntropyLoss()
for epoch in range(5):
    model.train()
    total = 0.0
    for ids, y in train:
        opt.zero_grad()
        loss = ce(model(ids), y)
        loss.backward()
        opt.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        pairs = [(model(ids), y) for ids, y in test]
    val = sum(ce(o, y).item() for o, y in pairs) / len(pairs)
    acc = sum((o.argmax(1) == y).sum().item() for o, y in pairs) / 400
    print(f"epoch {epoch}: loss {total / len(train):.3f}  test {val:.3f}  accuracy {acc:.3f}")
