"""Kind of household from the items of a basket. Article numbers are 5-digit codes; baskets differ in length."""
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

PAD = 0
HOUSEHOLDS = ["single", "family", "students", "retired"]

random.seed(29)
torch.manual_seed(29)

# the assortment: codes are handed out without system
codes = random.sample(range(10_000, 99_999), 160)
code_to_id = {c: i + 1 for i, c in enumerate(sorted(codes))}       # 0 is padding
aisle = {c: random.randrange(8) for c in codes}
by_aisle = [[c for c in codes if aisle[c] == a] for a in range(8)]
taste = {"single": [6, 1, 1, 3, 1, 1, 1, 2], "family": [1, 6, 3, 1, 1, 2, 1, 1],
         "students": [2, 1, 1, 1, 6, 1, 3, 1], "retired": [1, 1, 2, 1, 1, 6, 1, 3]}


def basket():
    kind = random.randrange(len(HOUSEHOLDS))
    n = random.randint(4, 14)
    aisles = random.choices(range(8), taste[HOUSEHOLDS[kind]], k=n)
    return [random.choice(by_aisle[a]) for a in aisles], kind


def batches(rows, size, shuffle=False):
    rows = random.sample(rows, len(rows)) if shuffle else rows
    for i in range(0, len(rows), size):
        part = rows[i:i + size]
        ids = pad_sequence([torch.tensor([code_to_id[c] for c in items]) for items, _ in part],
                           batch_first=True, padding_value=PAD)
        yield ids, torch.tensor([k for _, k in part])


class BasketEncoder(nn.Module):
    def __init__(self, n_ids, dim=24, heads=3):
        super().__init__()
        self.emb = nn.Embedding(n_ids, dim, padding_idx=PAD)
        nn.init.normal_(self.emb.weight, std=0.3)
        with torch.no_grad():
            self.emb.weight[PAD] = 0
        layer = nn.TransformerEncoderLayer(dim, heads, dim_feedforward=48, dropout=0.1, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.out = nn.Linear(dim, len(HOUSEHOLDS))

    def forward(self, ids):
        pad = ids == PAD
        h = self.enc(self.emb(ids), src_key_padding_mask=pad)
        h = h.masked_fill(pad.unsqueeze(-1), 0.0)
        return self.out(h.sum(1) / (~pad).sum(1, keepdim=True))


train_rows = [basket() for _ in range(2600)]
val_rows = [basket() for _ in range(500)]
model = BasketEncoder(len(codes) + 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.02)
steps = 5 * (len(train_rows) // 40)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (s + 1) / 30) * max(0.05, 1 - s / steps))
for epoch in range(1, 6):
    model.train()
    losses = []
    for ids, kind in batches(train_rows, 40, shuffle=True):
        loss = nn.functional.cross_entropy(model(ids), kind)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    model.eval()
    vl = hits = 0
    with torch.no_grad():
        for ids, kind in batches(val_rows, 125):
            out = model(ids)
            vl += nn.functional.cross_entropy(out, kind, reduction="sum").item()
            hits += (out.argmax(1) == kind).sum().item()
    print(f"epoch {epoch}  train {sum(losses) / len(losses):.4f}  val {vl / len(val_rows):.4f}  acc {hits / len(val_rows):.3f}")
