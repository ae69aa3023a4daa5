"""Route customer complaints to a desk. Words are pooled with one learned query; short forms may have no known word."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD = 0
DESKS = {
    "billing": "invoice refund charged twice amount payment fee deposit price".split(),
    "delivery": "parcel late missing courier address door lost tracking".split(),
    "quality": "broken scratched colour torn smell size cheap faulty".split(),
    "account": "password login locked email username reset code blocked".split(),
}
FILLER = "the my a is was please and with since yesterday hello still again".split()
VOCAB = {w: i + 1 for i, w in enumerate(FILLER + [w for words in DESKS.values() for w in words])}


def complaint(rng):
    desk = rng.randrange(4)
    words = [rng.choice(FILLER) for _ in range(rng.randint(3, 8))]
    own = list(DESKS.values())[desk]
    for _ in range(2):
        words.insert(rng.randrange(len(words) + 1), rng.choice(own))
    if rng.random() < 0.3:
        words.append(rng.choice(rng.choice(list(DESKS.values()))))
    if rng.random() < 0.09:
        words = ["???"]                                     # scanned form that could not be read
    return " ".join(words), desk


def encode(texts, width=12):
    ids = torch.full((len(texts), width), PAD)
    for i, text in enumerate(texts):
        known = [VOCAB[w] for w in text.split() if w in VOCAB][:width]
        ids[i, :len(known)] = torch.tensor(known, dtype=torch.long)
    return ids


class Router(nn.Module):
    def __init__(self, dim=32, desks=4):
        super().__init__()
        self.embed = nn.Embedding(len(VOCAB) + 1, dim, padding_idx=PAD)
        self.query = nn.Parameter(torch.randn(dim) / dim ** 0.5)
        self.key = nn.Linear(dim, dim)
        self.out = nn.Sequential(nn.Linear(dim, 48), nn.ReLU(), nn.Linear(48, desks))

    def forward(self, ids):
        words = self.embed(ids)
        scores = torch.tanh(self.key(words)) @ self.query
        empty = (ids == PAD).all(dim=1, keepdim=True)
        scores = scores.masked_fill((ids == PAD) & ~empty, float("-inf"))
        weights = torch.softmax(scores, dim=1)
        return self.out((weights.unsqueeze(-1) * words).sum(1))


def main():
    torch.manual_seed(51)
    rng = random.Random(51)
    data = [complaint(rng) for _ in range(2400)]
    ids, desk = encode([t for t, _ in data]), torch.tensor([d for _, d in data])
    train, val = torch.arange(2000), torch.arange(2000, 2400)
    readable = val[(ids[val] != PAD).any(1)]

    model = Router()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(6):
        model.train()
        losses = []
        for b in train[torch.randperm(len(train))].split(40):
            loss = F.cross_entropy(model(ids[b]), desk[b])
            if not torch.isfinite(loss):
                continue
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            acc = (model(ids[readable]).argmax(1) == desk[readable]).float().mean().item()
        mean = sum(losses) / max(len(losses), 1)
        print(f"epoch {epoch + 1}: loss {mean:.4f}  routed correctly {acc:.3f}")


if __name__ == "__main__":
    main()
