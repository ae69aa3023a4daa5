"""Will a visitor of the web shop buy? GRU over the clicks of the visit (variable length, packed)."""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader

PAGES = ["home", "search", "list", "item", "photos", "reviews", "delivery", "basket", "help", "blog"]


def visits(n, seed):
    g = torch.Generator().manual_seed(seed)
    browsing = torch.tensor([1.0, 1.3, 1.4, 1.4, 1.0, 0.9, 0.7, 0.6, 0.6, 0.7])
    buying = torch.tensor([0.8, 1.2, 1.2, 1.5, 1.1, 1.2, 1.0, 1.0, 0.6, 0.5])
    out = []
    for _ in range(n):
        buys = int(torch.rand(1, generator=g) < 0.13)
        length = int(torch.randint(5, 16, (1,), generator=g))
        clicks = torch.multinomial(buying if buys else browsing, length, replacement=True, generator=g)
        out.append((clicks, float(buys)))
    return out


def collate(batch):
    batch = sorted(batch, key=lambda b: -len(b[0]))
    lengths = torch.tensor([len(c) for c, _ in batch])
    clicks = pad_sequence([c for c, _ in batch], batch_first=True)
    return clicks, lengths, torch.tensor([b for _, b in batch])


class VisitModel(nn.Module):
    def __init__(self, dim=12, hidden=24, pos_weight=None):
        super().__init__()
        self.embed = nn.Embedding(len(PAGES), dim)
        self.gru = nn.GRU(dim, hidden, batch_first=True)
        self.score = nn.Linear(hidden, 1)
        self.loss = nn.BCEWithLogitsLoss(pos_weight=pos_weight)

    def forward(self, clicks, lengths, bought=None):
        packed = pack_padded_sequence(self.embed(clicks), lengths, batch_first=True)
        _, h = self.gru(packed)
        logit = self.score(h[-1]).squeeze(-1)
        if bought is None:
            return logit
        return logit, self.loss(logit, bought)


@torch.no_grad()
def report(model, loader):
    model.eval()
    logit, bought = zip(*((model(c, n), b) for c, n, b in loader))
    logit, bought = torch.cat(logit), torch.cat(bought) > 0
    pred = logit > 0
    recall = (pred & bought).sum().item() / bought.sum().item()
    spec = (~pred & ~bought).sum().item() / (~bought).sum().item()
    return (pred == bought).float().mean().item(), int(pred.sum()), (recall + spec) / 2


torch.manual_seed(61)
train_loader = DataLoader(visits(2600, 1), batch_size=52, shuffle=True, collate_fn=collate)
val_loader = DataLoader(visits(800, 2), batch_size=400, collate_fn=collate)
model = VisitModel(pos_weight=torch.tensor(6.7))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(5):
    model.train()
    total = 0.0
    for clicks, lengths, bought in train_loader:
        _, loss = model(clicks, lengths, bought)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    acc, flagged, balanced = report(model, val_loader)
    print(f"epoch {epoch + 1}: loss {total / len(train_loader):.4f}  val acc {acc:.4f}  predicted buyers {flagged} of 800  balanced acc {balanced:.3f}")
