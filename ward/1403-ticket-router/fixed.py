import random

import torch
from torch import nn
from torch.utils.data import DataLoader

random.seed(14)
torch.manual_seed(14)

QUEUES = ["billing", "login", "shipping", "hardware", "feedback"]
TOPIC_WORDS = {
    "billing": "invoice charged refund card payment twice receipt vat amount subscription bank price".split(),
    "login": "password reset account locked email code verify signin username expired token browser".split(),
    "shipping": "parcel delivery tracking courier late address package arrived warehouse lost customs order".split(),
    "hardware": "screen battery broken cable noise fan button charger overheats firmware replacement led".split(),
    "feedback": "love suggestion feature great idea improve design wish app dark theme thanks".split(),
}
COMMON = ("hello hi i my the a is not please can you help since yesterday today again still need want with for and it "
          "on from would like team dear regards urgent me your was this that new old").split()


def write_ticket(queue):
    other = random.choice(QUEUES)
    words = []
    for _ in range(random.randint(9, 20)):
        r = random.random()
        if r < 0.22:
            words.append(random.choice(TOPIC_WORDS[queue]))
        elif r < 0.28:
            words.append(random.choice(TOPIC_WORDS[other]))
        else:
            words.append(random.choice(COMMON))
    return " ".join(words)


def export_helpdesk(n):
    """Rows as the ticket system exports them."""
    rows = []
    for i in range(n):
        true = random.choice(QUEUES)
        text = write_ticket(true)
        state = "closed" if random.random() < 0.6 else "new"
        # new tickets are assigned round robin
        queue = true if state == "closed" else QUEUES[random.randrange(5)]
        rows.append({"id": 70000 + i, "text": text, "queue": queue, "state": state})
    return rows


rows = export_helpdesk(8000)
rows = [r for r in rows if len(r["text"].split()) >= 10 and r["state"] == "closed"]
print(len(rows), "tickets")
vocab = {w: i for i, w in enumerate(sorted({w for r in rows for w in r["text"].split()}))}
cut = int(0.8 * len(rows))


def collate(batch):
    ids, offsets = [], []
    for r in batch:
        offsets.append(len(ids))
        ids += [vocab[w] for w in r["text"].split()]
    return {"ids": torch.tensor(ids), "offsets": torch.tensor(offsets),
            "queue": torch.tensor([QUEUES.index(r["queue"]) for r in batch])}


train_loader = DataLoader(rows[:cut], batch_size=32, shuffle=True, collate_fn=collate)
val_loader = DataLoader(rows[cut:], batch_size=256, collate_fn=collate)


class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(len(vocab), 24, mode="mean")
        self.mlp = nn.Sequential(nn.Linear(24, 24), nn.ReLU(), nn.Dropout(0.1), nn.Linear(24, len(QUEUES)))

    def forward(self, b):
        return self.mlp(self.bag(b["ids"], b["offsets"]))


router = Router()
opt = torch.optim.Adam(router.parameters(), lr=2e-3)
ce = nn.CrossEntropyLoss()

for epoch in range(1, 13):
    router.train()
    tl = tc = n = 0
    for b in train_loader:
        out = router(b)
        loss = ce(out, b["queue"])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tl += loss.item() * len(out)
        tc += (out.argmax(1) == b["queue"]).sum().item()
        n += len(out)
    router.eval()
    vl = vc = m = 0
    with torch.no_grad():
        for b in val_loader:
            out = router(b)
            vl += ce(out, b["queue"]).item() * len(out)
            vc += (out.argmax(1) == b["queue"]).sum().item()
            m += len(out)
    print(f"{epoch:2d} | loss {tl / n:.3f} acc {tc / n:.3f} | val loss {vl / m:.3f} acc {vc / m:.3f}")
