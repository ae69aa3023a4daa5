"""Character model of a station's loudspeaker announcements (GRU)."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

BLOCK, BATCH, STEPS, SEED = 20, 24, 150, 1337
PLACES = ["ashford", "brill", "castle combe", "dunmore", "eyam", "fowey", "goring", "hythe"]


def announcements(n):
    rng = random.Random(SEED)
    kinds = ["train to {} from platform {}. ", "late: {} on {}. "]
    return "".join(rng.choice(kinds).format(rng.choice(PLACES), rng.randint(1, 9)) for _ in range(n))


text = announcements(1500)
chars = sorted(set(text))
ids = torch.tensor([chars.index(c) for c in text])
cut = int(0.85 * len(ids))
splits = {"train": ids[:cut], "val": ids[cut:]}
gen = torch.Generator().manual_seed(SEED)


def get_batch(split):
    data = splits[split]
    start = torch.randint(len(data) - BLOCK - 1, (BATCH,), generator=gen)
    x = torch.stack([data[s:s + BLOCK] for s in start])
    y = torch.stack([data[s + 1:s + BLOCK + 1] for s in start])
    return x, y


class CharModel(nn.Module):
    def __init__(self, vocab, width=40):
        super().__init__()
        self.emb = nn.Embedding(vocab, 16)
        self.rnn = nn.GRU(16, width, batch_first=True)
        self.head = nn.Linear(width, vocab)

    def forward(self, x, y):
        out, _ = self.rnn(self.emb(x))
        return F.cross_entropy(self.head(out).flatten(0, 1), y.flatten())


@torch.no_grad()
def val_loss(model, n=200):
    model.eval()
    data = splits["val"]
    loss = model(data[:n * BLOCK].view(n, BLOCK), data[1:n * BLOCK + 1].view(n, BLOCK)).item()
    model.train()
    return loss


torch.manual_seed(SEED)
model = CharModel(len(chars))
opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(STEPS):
    loss = model(*get_batch("train"))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if (step + 1) % 15 == 0:
        print(f"step {step + 1}: train {loss.item():.3f} val {val_loss(model):.3f}")
