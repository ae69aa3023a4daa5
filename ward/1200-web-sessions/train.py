"""Who is browsing? Sessions of page events (reader, shopper, crawler, monitor) -> LSTM over the packed sequence."""
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

random.seed(3)
torch.manual_seed(3)

PAGES = ["home", "list", "item", "cart", "pay", "search", "help", "feed", "robots"]
KINDS = {
    #            typical length, weights of the pages
    "monitor": (5, [8, 1, 1, 1, 1, 1, 2, 2, 1]),
    "reader": (10, [2, 2, 3, 1, 1, 2, 1, 4, 1]),
    "shopper": (16, [1, 3, 4, 3, 1, 3, 1, 1, 1]),
    "crawler": (24, [2, 4, 4, 1, 1, 2, 2, 3, 2]),
}
NAMES = list(KINDS)


def record(n):
    rows = []
    for _ in range(n):
        kind = random.choice(NAMES)
        typical, weights = KINDS[kind]
        length = max(2, int(random.gauss(typical, 1.8)))
        rows.append((random.choices(range(1, len(PAGES) + 1), weights, k=length), NAMES.index(kind)))
    return rows


class Sessions(Dataset):
    def __init__(self, rows):
        self.rows = sorted(rows, key=lambda r: len(r[0]), reverse=True)  # little padding, fast batches

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        pages, kind = self.rows[i]
        return torch.tensor(pages), kind


def collate(batch):
    batch.sort(key=lambda b: len(b[0]), reverse=True)
    pages, kinds = zip(*batch)
    lengths = torch.tensor([len(p) for p in pages])
    return pad_sequence(pages, batch_first=True), lengths, torch.tensor(kinds)


class SessionNet(nn.Module):
    def __init__(self, emb=16, hidden=32):
        super().__init__()
        self.emb = nn.Embedding(len(PAGES) + 1, emb, padding_idx=0)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, len(NAMES))

    def forward(self, pages, lengths):
        packed = pack_padded_sequence(self.emb(pages), lengths, batch_first=True)
        _, (h, _) = self.lstm(packed)
        return self.fc(h[-1])


train_dl = DataLoader(Sessions(record(1300)), batch_size=32, collate_fn=collate)
test_dl = DataLoader(Sessions(record(400)), batch_size=100, collate_fn=collate)

model = SessionNet()
opt = torch.optim.Adam(model.parameters(), lr=2.5e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(1, 7):
    model.train()
    running = 0.0
    for pages, lengths, kinds in train_dl:
        opt.zero_grad()
        loss = loss_fn(model(pages, lengths), kinds)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        running += loss.item()
    model.eval()
    right, total, test_loss = 0, 0, 0.0
    with torch.no_grad():
        for pages, lengths, kinds in test_dl:
            out = model(pages, lengths)
            test_loss += loss_fn(out, kinds).item() * len(kinds)
            right += (out.argmax(1) == kinds).sum().item()
            total += len(kinds)
    print(f"epoch {epoch}  train loss {running / len(train_dl):.4f}  test loss {test_loss / total:.4f}  test acc {right / total:.3f}")
