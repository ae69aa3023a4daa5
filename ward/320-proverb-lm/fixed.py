import random
import torch
from torch import nn

random.seed(6)
torch.manual_seed(6)

WHO = "the wise old man|a young fool|every good smith|the patient fisher|a hungry wolf|the miller s daughter".split("|")
DOES = "never counts|always keeps|seldom finds|quickly loses|gladly shares|rarely forgets".split("|")
WHAT = "his own bread|a silver coin|the long road home|what winter gave|a kind word|the first snow".split("|")
TAIL = "in the morning|before the rain|without a friend|when the bells ring|at the end of the day".split("|")


def sentence():
    return " ".join(random.choice(part) for part in (WHO, DOES, WHAT, TAIL)) + "."


N_TRAIN = 900
train_text = " ".join(sentence() for _ in range(N_TRAIN))
val_text = " ".join(sentence() for _ in range(80))
chars = sorted(set(train_text + val_text))
stoi = {c: i for i, c in enumerate(chars)}
encode = lambda s: torch.tensor([stoi[c] for c in s])
train_ids, val_ids = encode(train_text), encode(val_text)
CTX, BATCH = 16, 48


class CharMLP(nn.Module):
    """Bengio style: embed the last CTX characters, predict the next"""

    def __init__(self, v, emb=16, hid=192, p=0.0):
        super().__init__()
        self.emb = nn.Embedding(v, emb)
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(CTX * emb, hid), nn.Tanh(), nn.Dropout(p), nn.Linear(hid, v))

    def forward(self, x):
        return self.net(self.emb(x))


def get_batch(ids, pos):
    return torch.stack([ids[p:p + CTX] for p in pos]), torch.stack([ids[p + CTX] for p in pos])


model = CharMLP(len(chars))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
val_batch = get_batch(val_ids, range(0, len(val_ids) - CTX, 3))

for it in range(801):
    model.train()
    x, y = get_batch(train_ids, torch.randint(0, len(train_ids) - CTX, (BATCH,)).tolist())
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 50 == 0:
        model.eval()
        with torch.no_grad():
            vl = nn.functional.cross_entropy(model(val_batch[0]), val_batch[1]).item()
        print(f"iter {it:4d} train {loss.item():.3f} val {vl:.3f}")
