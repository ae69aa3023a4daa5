"""Rewrite spoken times ("ten past 4 pm") as clock times ("16:10") with a small encoder-decoder transformer."""
import random

import torch
import torch.nn as nn

PAD, BOS, EOS = 0, 1, 2
WORDS = {"five": 5, "ten": 10, "quarter": 15, "twenty": 20}


def example(rng):
    word, minutes = rng.choice(list(WORDS.items()))
    hour = rng.randint(1, 11)
    half, side = rng.choice(["am", "pm"]), rng.choice(["past", "to"])
    h24 = hour + (12 if half == "pm" else 0)
    total = h24 * 60 + (minutes if side == "past" else -minutes)
    return [word, side, str(hour), half], f"{total // 60:02d}:{total % 60:02d}"


SRC = {w: i + 3 for i, w in enumerate(list(WORDS) + ["past", "to", "am", "pm"] + [str(h) for h in range(1, 12)])}
TGT = {c: i + 3 for i, c in enumerate("0123456789:")}
BACK = {i: c for c, i in TGT.items()}


def encode(pairs):
    src = torch.tensor([[SRC[w] for w in s] for s, _ in pairs])
    tgt = torch.tensor([[BOS] + [TGT[c] for c in t] + [EOS] for _, t in pairs])
    return src, tgt


class Rewriter(nn.Module):
    def __init__(self, dim=48, heads=4):
        super().__init__()
        self.src_emb, self.tgt_emb = nn.Embedding(len(SRC) + 3, dim), nn.Embedding(len(TGT) + 3, dim)
        self.src_pos = nn.Parameter(0.1 * torch.randn(4, dim))
        self.tgt_pos = nn.Parameter(0.1 * torch.randn(8, dim))
        enc = nn.TransformerEncoderLayer(dim, heads, 96, dropout=0.0, batch_first=True, norm_first=True)
        dec = nn.TransformerDecoderLayer(dim, heads, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(enc, 1, enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(dec, 1, norm=nn.LayerNorm(dim))
        self.out = nn.Linear(dim, len(TGT) + 3)

    def forward(self, src, tgt):
        memory = self.encoder(self.src_emb(src) + self.src_pos[:src.shape[1]])
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.shape[1])
        h = self.decoder(self.tgt_emb(tgt) + self.tgt_pos[:tgt.shape[1]], memory, tgt_mask=mask)
        return self.out(h)

    @torch.no_grad()
    def write(self, src, length=6):
        ids = torch.full((len(src), 1), BOS)
        for _ in range(length):
            nxt = self(src, ids)[:, -1].argmax(-1)
            ids = torch.cat([ids, nxt[:, None]], dim=1)
        return ["".join(BACK.get(int(i), "") for i in row) for row in ids]


def main():
    torch.manual_seed(6)
    rng = random.Random(6)
    check = [example(rng) for _ in range(100)]
    check_src, _ = encode(check)
    model = Rewriter()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    for step in range(1, 161):
        src, tgt = encode([example(rng) for _ in range(48)])
        model.train()
        logits = model(src, tgt[:, :-1])
        loss = criterion(logits.flatten(0, 1), tgt[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            model.eval()
            written = model.write(check_src)
            exact = sum(w == t for w, (_, t) in zip(written, check)) / len(check)
            print(f"step {step:3d}  loss {loss.item():.4f}  exact {exact:.2f}  e.g. {' '.join(check[0][0])} -> {written[0]}")


main()
