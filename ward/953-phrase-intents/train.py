"""Intent of short phrases: padded word ids into an embedding."""
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

WORDS, INTENTS, PAD = 5000, 5, 0
rng = random.Random(56)
torch.manual_seed(56)
lexicon = [rng.sample(range(1, WORDS), 40) for _ in range(INTENTS)]
common = rng.sample(range(1, WORDS), 200)


def phrases(n):
    out = []
    for _ in range(n):
        k = rng.randrange(INTENTS)
        length = rng.choice([2, 3, 3, 4, 5, 18])
        ids = [rng.choice(lexicon[k]) if rng.random() < 0.5 else rng.choice(common) for _ in range(length)]
        ids[rng.randrange(length)] = rng.choice(lexicon[k])
        out.append((torch.tensor(ids), k))
    return out


def collate(items):
    return pad_sequence([i for i, _ in items], batch_first=True, padding_value=PAD), torch.tensor([k for _, k in items])


class Intent(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(WORDS, 24, padding_idx=PAD)
        self.net = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, INTENTS))

    def forward(self, ids):
        real = (ids != PAD).unsqueeze(2)
        return self.net((self.emb(ids) * real).sum(1) / real.sum(1))


train = torch.utils.data.DataLoader(phrases(3200), batch_size=50, shuffle=True, collate_fn=collate)
val_ids, val_k = collate(phrases(500))
model = Intent()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(4):
    model.train()
    losses = []
    for ids, k in train:
        loss = nn.functional.cross_entropy(model(ids), k)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        out = model(val_ids)
    print(f"epoch {epoch} train {sum(losses) / len(losses):.4f} val {nn.functional.cross_entropy(out, val_k).item():.4f} acc {(out.argmax(1) == val_k).float().mean().item():.3f}")
