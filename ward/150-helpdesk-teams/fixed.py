"""Route support tickets to a team with a small transformer."""
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(8)
torch.manual_seed(8)

TOPIC = {
    "billing": "invoice refund charge card payment receipt price tax".split(),
    "network": "router wifi signal outage cable modem speed ping".split(),
    "account": "login password email profile reset username locked code".split(),
    "hardware": "screen battery keyboard broken fan noise charger hot".split(),
}
CHATTER = [f"w{i}" for i in range(120)]                  # anonymised everyday words
WORDS = ["<pad>"] + CHATTER + sum(TOPIC.values(), [])
INDEX = {w: i for i, w in enumerate(WORDS)}
TEAMS = list(TOPIC)


def ticket():
    team = random.randrange(4)
    told = team if random.random() < 0.93 else random.randrange(4)
    words = random.choices(CHATTER, k=9) + random.choices(TOPIC[TEAMS[told]], k=2) + random.choices(sum(TOPIC.values(), []), k=1)
    random.shuffle(words)
    return [INDEX[w] for w in words], team


def batch_of(rows):
    return torch.tensor([r[0] for r in rows]), torch.tensor([r[1] for r in rows])


class Router(nn.Module):
    def __init__(self, dim=48, p=0.4):
        super().__init__()
        self.emb = nn.Embedding(len(WORDS), dim, padding_idx=0)
        self.drop = nn.Dropout(p)
        self.enc = nn.TransformerEncoderLayer(dim, 4, dim_feedforward=96, dropout=p, batch_first=True, norm_first=True)
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Dropout(p), nn.Linear(dim, 4))

    def forward(self, ids):
        return self.head(self.enc(self.drop(self.emb(ids))).mean(1))


@torch.no_grad()
def examples(model, rows):
    """A few tickets with the team the model picks, for the log."""
    model.eval()
    picks = model(batch_of(rows)[0]).argmax(1)
    return ", ".join(TEAMS[int(p)] for p in picks)


train = [ticket() for _ in range(800)]
valid_x, valid_y = batch_of([ticket() for _ in range(400)])
model = Router()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
history = []
for epoch in range(9):
    model.train()
    random.shuffle(train)
    total = 0.0
    for i in range(0, len(train), 40):
        x, y = batch_of(train[i:i + 40])
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / 20
    shown = examples(model, train[:3])
    model.eval()
    with torch.no_grad():
        out = model(valid_x)
        vloss, vacc = F.cross_entropy(out, valid_y).item(), (out.argmax(1) == valid_y).float().mean().item()
    history.append(vloss)
    print(f"epoch {epoch} loss {total:.3f} valid {vloss:.3f} acc {vacc:.3f} | {shown}")
print("best valid loss", min(history), "in epoch", history.index(min(history)))
