"""Shop sessions as event sequences: did the customer read reviews before adding to the basket?"""
import random
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

EVENTS = ["<pad>", "home", "search", "filter", "product", "photo", "reviews", "basket", "wishlist", "help", "login"]
E2I = {e: i for i, e in enumerate(EVENTS)}


@dataclass
class HParams:
    dim: int = 32
    heads: int = 4
    layers: int = 2
    dropout: float = 0.1
    max_len: int = 12
    batch: int = 50
    epochs: int = 12
    lr: float = 2e-3
    weight_decay: float = 1e-2
    seed: int = 14


def sessions(n, hp, rng):
    noise = [e for e in EVENTS[1:] if e not in ("reviews", "basket")]
    x = torch.zeros(n, hp.max_len, dtype=torch.long)
    y = torch.zeros(n, dtype=torch.long)
    for i in range(n):
        length = rng.randint(6, hp.max_len)
        events = [rng.choice(noise) for _ in range(length)]
        a, b = rng.sample(range(length), 2)
        events[a], events[b] = "reviews", "basket"
        x[i, :length] = torch.tensor([E2I[e] for e in events])
        y[i] = int(a < b)
    return TensorDataset(x, y)


class SessionModel(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.event_emb = nn.Embedding(len(EVENTS), hp.dim, padding_idx=0)
        self.position_emb = nn.Embedding(hp.max_len, hp.dim)
        self.dropout = nn.Dropout(hp.dropout)
        layer = nn.TransformerEncoderLayer(hp.dim, hp.heads, 2 * hp.dim, hp.dropout, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, hp.layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(hp.dim)
        self.classifier = nn.Linear(hp.dim, 2)

    def forward(self, events):
        pad = events == 0
        h = self.event_emb(events)
        h = self.encoder(self.dropout(h), src_key_padding_mask=pad)
        keep = (~pad).unsqueeze(-1).float()
        pooled = (h * keep).sum(1) / keep.sum(1)
        return self.classifier(self.norm(pooled))


def evaluate(model, loader, criterion):
    model.eval()
    loss = hits = n = 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += criterion(out, y).item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss / n, hits / n


def main(hp):
    rng = random.Random(hp.seed)
    torch.manual_seed(hp.seed)
    train = DataLoader(sessions(3000, hp, rng), batch_size=hp.batch, shuffle=True)
    val = DataLoader(sessions(600, hp, rng), batch_size=200)
    model = SessionModel(hp)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=hp.lr, weight_decay=hp.weight_decay)
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {len(train)} batches")
    for epoch in range(1, hp.epochs + 1):
        model.train()
        running = 0.0
        for x, y in train:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            running += loss.item()
        vl, va = evaluate(model, val, criterion)
        print(f"epoch {epoch:2d}/{hp.epochs}  loss {running / len(train):.4f}  val loss {vl:.4f}  val acc {va:.3f}")


if __name__ == "__main__":
    main(HParams())
