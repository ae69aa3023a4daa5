"""Tag support tickets; a ticket can carry several tags (or none)."""
import numpy as np
import torch
from torch import nn
from sklearn.metrics import f1_score
from torch.utils.data import DataLoader

rng = np.random.default_rng(31)
torch.manual_seed(31)

TAGS = {
    "billing": "invoice charge refund card payment price receipt".split(),
    "login": "password account signin token locked reset email".split(),
    "crash": "error crash freeze exception restart trace screen".split(),
    "slow": "slow lag timeout wait seconds loading hang".split(),
    "mobile": "phone android iphone tablet touch app store".split(),
    "export": "csv pdf download report excel file print".split(),
}
FILLER = "the a please when i we it is on after since yesterday again still my our team cannot help with and to".split()
NAMES = list(TAGS)
VOCAB = {w: i + 1 for i, w in enumerate(sorted(set(FILLER + sum(TAGS.values(), []))))}


def ticket():
    on = rng.random(len(NAMES)) < np.array([0.35, 0.3, 0.25, 0.25, 0.2, 0.2])
    words = list(rng.choice(FILLER, rng.integers(4, 10)))
    for name in np.array(NAMES)[on]:
        words += list(rng.choice(TAGS[name], rng.integers(1, 4)))
    if rng.random() < 0.25:          # a word mentioned by the way
        words.append(rng.choice(TAGS[rng.choice(NAMES)]))
    rng.shuffle(words)
    return [VOCAB[w] for w in words], on.astype("float32")


def collate(rows):
    width = max(len(ids) for ids, _ in rows)
    x = torch.zeros(len(rows), width, dtype=torch.long)
    for i, (ids, _) in enumerate(rows):
        x[i, :len(ids)] = torch.tensor(ids)
    return x, torch.from_numpy(np.stack([t for _, t in rows]))


class Tagger(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.emb = nn.Embedding(len(VOCAB) + 1, dim, padding_idx=0)
        self.conv = nn.Conv1d(dim, 64, 3, padding=1)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(64, len(NAMES))

    def forward(self, x):
        h = torch.relu(self.conv(self.emb(x).transpose(1, 2)))
        return self.out(self.drop(h.amax(dim=2)))


tickets = [ticket() for _ in range(3000)]
train_dl = DataLoader(tickets[:2400], batch_size=48, shuffle=True, collate_fn=collate)
test_dl = DataLoader(tickets[2400:], batch_size=200, collate_fn=collate)

model = Tagger()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-3)

for epoch in range(1, 11):
    model.train()
    running = 0.0
    for x, t in train_dl:
        loss = criterion(model(x), t)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    truth, guess, vloss = [], [], 0.0
    with torch.no_grad():
        for x, t in test_dl:
            out = model(x)
            vloss += criterion(out, t).item() / len(test_dl)
            truth.append(t)
            guess.append(torch.sigmoid(out) > 0.5)
    truth, guess = torch.cat(truth).numpy(), torch.cat(guess).numpy()
    print(f"epoch {epoch:2d}  loss {running / len(train_dl):.4f}  test loss {vloss:.4f}  "
          f"F1 {f1_score(truth, guess, average='micro'):.3f}  exact {(truth == guess).all(1).mean():.3f}")
