"""Route support tickets to a team with a hashed bag of words."""
import random

import torch
from torch import nn

SEED = 77
random.seed(SEED)
torch.manual_seed(SEED)

N_BUCKETS = 300
TEAMS = {
    "billing": "invoice charge refund payment card twice amount receipt vat subscription renewal price",
    "network": "wifi router slow drops vpn connection latency cable signal outage dns timeout",
    "account": "password login locked reset email username verify code profile delete signin session",
    "hardware": "screen battery keyboard fan noise broken charger overheats laptop dock mouse monitor",
    "software": "crash update install error plugin version freeze export macro licence window defect",
}
FILLER = ("hello please help since yesterday the my is again not and when i it after this still urgent team "
          "thanks could you have tried twice already today office home customer").split()
NAMES = list(TEAMS)
VOCAB = {team: words.split() for team, words in TEAMS.items()}


def write_ticket():
    team = random.randrange(len(NAMES))
    own = random.choices(VOCAB[NAMES[team]], k=random.randint(2, 4))
    other = random.choices(VOCAB[random.choice(NAMES)], k=random.randint(0, 2))
    words = own + other + random.choices(FILLER, k=random.randint(8, 20))
    if random.random() < 0.7:
        words += [f"#{random.randrange(400)}"]
    random.shuffle(words)
    return " ".join(words), team


def encode(text):
    return [hash(word) % N_BUCKETS for word in text.split()]


def batches(data, size, shuffle):
    order = list(range(len(data)))
    if shuffle:
        random.shuffle(order)
    for i in range(0, len(order), size):
        chunk = [data[j] for j in order[i:i + size]]
        flat = torch.tensor([b for ids, _ in chunk for b in ids])
        starts = torch.tensor([0] + [len(ids) for ids, _ in chunk[:-1]]).cumsum(0)
        yield flat, starts, torch.tensor([t for _, t in chunk])


class Router(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.bag = nn.EmbeddingBag(N_BUCKETS, dim, mode="mean")
        self.mlp = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, len(NAMES)))

    def forward(self, flat, starts):
        return self.mlp(self.bag(flat, starts))


def evaluate(model, data):
    model.eval()
    loss = right = 0
    with torch.no_grad():
        for flat, starts, team in batches(data, 200, False):
            out = model(flat, starts)
            loss += nn.functional.cross_entropy(out, team, reduction="sum").item()
            right += (out.argmax(1) == team).sum().item()
    return loss / len(data), right / len(data)


data = [(encode(text), team) for text, team in (write_ticket() for _ in range(5000))]
train, test = data[:4000], data[4000:]
model = Router()
opt = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=1e-5)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=12)
for epoch in range(12):
    model.train()
    total = 0.0
    for flat, starts, team in batches(train, 32, True):
        loss = nn.functional.cross_entropy(model(flat, starts), team)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(team)
    sched.step()
    tl, ta = evaluate(model, test)
    print(f"epoch {epoch + 1:2d}  train loss {total / len(train):.5f}  test loss {tl:.5f}  test acc {ta:.4f}")
