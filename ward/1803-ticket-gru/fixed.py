# route support tickets to the right team
import random

import torch
from torch import nn

random.seed(13)
torch.manual_seed(13)

TEAMS = {
    "billing": "invoice refund charge card payment price plan receipt tax".split(),
    "network": "router wifi signal speed cable modem outage latency dns".split(),
    "account": "password login email username locked reset profile verify".split(),
    "delivery": "parcel courier address late tracking box shipped lost".split(),
    "hardware": "screen battery keyboard charger fan button broken noise".split(),
}
COMMON = ("my the a is not and i have please help with since yesterday it was again still cannot you "
          "thanks hello team problem issue need asap why does our new old get got").split()
LABELS = list(TEAMS)
WORDS = sorted(set(COMMON) | {w for v in TEAMS.values() for w in v})
VOCAB = {w: i + 1 for i, w in enumerate(WORDS)}
MAXLEN = 16


def ticket():
    k = random.randrange(len(LABELS))
    n = random.randint(9, MAXLEN)
    words = [random.choice(COMMON) for _ in range(n)]
    for pos in random.sample(range(n), 3):
        words[pos] = random.choice(TEAMS[LABELS[k]])
    if random.random() < 0.6:       # a word of some other team gets mentioned as well
        words[random.randrange(n)] = random.choice(TEAMS[random.choice(LABELS)])
    ids = [VOCAB[w] for w in words]
    return ids + [0] * (MAXLEN - n), k


def dataset(n):
    rows = [ticket() for _ in range(n)]
    return torch.tensor([r[0] for r in rows]), torch.tensor([r[1] for r in rows])


class TicketModel(nn.Module):
    def __init__(self, emb=32, hid=48, p=0.5):
        super().__init__()
        self.emb = nn.Embedding(len(VOCAB) + 1, emb, padding_idx=0)
        self.emb_drop = nn.Dropout(p)
        self.gru = nn.GRU(emb, hid, batch_first=True)
        self.fc_drop = nn.Dropout(p)
        self.fc = nn.Linear(hid, len(LABELS))

    def forward(self, x):
        h, _ = self.gru(self.emb_drop(self.emb(x)))
        mask = (x > 0).unsqueeze(-1)
        h = h.masked_fill(~mask, -1e4).max(1).values
        return self.fc(self.fc_drop(h))


class Experiment:
    def __init__(self, epochs=12, batch=40):
        self.epochs, self.batch = epochs, batch
        self.train_x, self.train_y = dataset(2400)
        self.val_x, self.val_y = dataset(600)
        self.model = TicketModel()
        self.model.train()
        self.loss = nn.CrossEntropyLoss()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=2e-3)

    def one_epoch(self):
        total = 0.0
        for b in torch.randperm(len(self.train_y)).split(self.batch):
            self.opt.zero_grad()
            loss = self.loss(self.model(self.train_x[b]), self.train_y[b])
            loss.backward()
            self.opt.step()
            total += loss.item() * len(b)
        return total / len(self.train_y)

    def validate(self):
        self.model.eval()
        with torch.no_grad():
            out = self.model(self.val_x)
            loss = self.loss(out, self.val_y).item()
        self.model.train()
        return loss, (out.argmax(1) == self.val_y).float().mean().item()

    def run(self):
        best = 0.0
        for epoch in range(1, self.epochs + 1):
            tl = self.one_epoch()
            vl, acc = self.validate()
            best = max(best, acc)
            print(f"epoch {epoch:2d}  train {tl:.4f}  val {vl:.4f}  val acc {acc:.3f}  best {best:.3f}")


Experiment().run()
