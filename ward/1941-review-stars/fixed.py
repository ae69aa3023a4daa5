"""Good or bad review? A small transformer over word ids of scraped reviews."""
import random
import zlib

import torch
import torch.nn as nn

random.seed(2)
torch.manual_seed(2)
GOOD = "great lovely quick friendly tasty warm clean perfect happy fresh".split()
BAD = "awful slow rude cold dirty broken bland late noisy stale".split()
NEUTRAL = "the place was we had food table room staff they our dinner and with some again very menu street visit".split()


def scrape(n):
    """Reviews as they come from the site; some people leave only stars."""
    reviews = []
    for _ in range(n):
        good = random.random() < 0.5
        if random.random() < 0.04:
            reviews.append(("", good))
            continue
        tone = random.choices(GOOD if good else BAD, k=random.randint(3, 5)) + random.choices(BAD if good else GOOD, k=2)
        words = tone + random.choices(NEUTRAL, k=random.randint(5, 20))
        random.shuffle(words)
        reviews.append((" ".join(words), good))
    return reviews


def collate(rows, length=24):
    ids = torch.zeros(len(rows), length, dtype=torch.long)
    for i, (text, _) in enumerate(rows):
        for j, w in enumerate(text.split()[:length]):
            ids[i, j] = 1 + zlib.crc32(w.encode()) % 499
    return ids, torch.tensor([float(good) for _, good in rows])


class ReviewNet(nn.Module):
    def __init__(self, dim=32, heads=4):
        super().__init__()
        self.emb = nn.Embedding(500, dim, padding_idx=0)
        self.pos = nn.Parameter(0.02 * torch.randn(24, dim))
        layer = nn.TransformerEncoderLayer(dim, heads, 64, dropout=0.1, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(dim, 1)

    def forward(self, ids):
        pad = ids == 0
        h = self.enc(self.emb(ids) + self.pos, src_key_padding_mask=pad)
        h = h.masked_fill(pad.unsqueeze(-1), 0.0).sum(1) / (~pad).sum(1, keepdim=True)
        return self.out(h).squeeze(-1)


def batches(reviews, size):
    for i in range(0, len(reviews), size):
        yield collate(reviews[i:i + size])


train, val = ([r for r in scrape(n) if r[0]] for n in (1400, 500))
model = ReviewNet()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
bce = nn.BCEWithLogitsLoss()
for epoch in range(10):
    model.train()
    random.shuffle(train)
    seen, total = 0, 0.0
    for ids, good in batches(train, 64):
        loss = bce(model(ids), good)
        if torch.isnan(loss):
            continue
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
        seen += 1
    model.eval()
    right, vloss, count = 0, 0.0, 0
    with torch.no_grad():
        for ids, good in batches(val, 200):
            out = model(ids)
            vloss += bce(out, good).item() * len(good)
            right += ((out > 0) == good.bool()).sum().item()
            count += len(good)
    print(f"epoch {epoch + 1}: train {total / max(seen, 1):.4f}  val {vloss / count:.4f}  acc {right / count:.3f}")
