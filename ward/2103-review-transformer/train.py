import math
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

random.seed(21)
torch.manual_seed(21)

POS = ["good", "great", "lovely", "superb", "fun", "warm", "clever", "fresh"]
NEG = ["bad", "awful", "dull", "weak", "slow", "cold", "silly", "stale"]
FILL = ["the", "film", "was", "a", "plot", "and", "actor", "scene", "with", "ending", "it", "felt", "music", "very"]
VOCAB = {w: i + 1 for i, w in enumerate(POS + NEG + FILL)}
MAX_LEN = 16


def make_review():
    """The label is the mood that most of the words have."""
    label = random.randint(0, 1)
    n_main, n_other = random.choice([(2, 0), (2, 1), (3, 1), (3, 2)])
    words = []
    for mood in [label] * n_main + [1 - label] * n_other:
        words.append(random.choice(POS if mood else NEG))
    words += random.choices(FILL, k=random.randint(3, 6))
    random.shuffle(words)
    return words[:MAX_LEN], label


def build(n):
    x, y = torch.zeros(n, MAX_LEN, dtype=torch.long), torch.zeros(n, dtype=torch.long)
    for i in range(n):
        words, y[i] = make_review()
        x[i, : len(words)] = torch.tensor([VOCAB[w] for w in words])
    return TensorDataset(x, y)


class PositionalEncoding(nn.Module):
    def __init__(self, dim, max_len):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
        pe = torch.zeros(max_len, dim)
        pe[:, 0::2], pe[:, 1::2] = torch.sin(pos * div), torch.cos(pos * div)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(1)]


class ReviewClassifier(nn.Module):
    def __init__(self, vocab, dim=48, heads=4, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.pos = PositionalEncoding(dim, MAX_LEN)
        layer = nn.TransformerEncoderLayer(dim, heads, 96, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.fc = nn.Linear(dim, 2)

    def forward(self, x):
        pad = x == 0
        h = self.norm(self.encoder(self.pos(self.embed(x)), src_key_padding_mask=pad))
        h = h.masked_fill(pad.unsqueeze(-1), 0).sum(1) / (~pad).sum(1, keepdim=True)
        return self.fc(h)


train_loader = DataLoader(build(3000), batch_size=32, shuffle=True)
val_loader = DataLoader(build(600), batch_size=200)

epochs = 8
model = ReviewClassifier(len(VOCAB) + 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5, weight_decay=0.01)
total_steps = epochs * len(train_loader)
warmup = total_steps // 10
scheduler = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda s: (s + 1) / warmup if s < warmup else max(0.0, (total_steps - s) / (total_steps - warmup)))
criterion = nn.CrossEntropyLoss()

for epoch in range(epochs):
    model.train()
    train_loss = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        train_loss += loss.item()
    model.eval()
    val_loss, hits = 0.0, 0
    with torch.no_grad():
        for x, y in val_loader:
            out = model(x)
            val_loss += criterion(out, y).item()
            hits += (out.argmax(1) == y).sum().item()
    print(f"Epoch {epoch + 1}/{epochs} train_loss={train_loss / len(train_loader):.4f} "
          f"val_loss={val_loss / len(val_loader):.4f} val_acc={hits / 600:.3f}")
