"""Rewrite human dates ("07 mar 11") as ISO dates with a GRU encoder-decoder."""
import random

import torch
import torch.nn as nn

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
PAD, SOS = 0, 1
CHARS = "abcdefghijklmnopqrstuvwxyz0123456789 ,-/"
C2I = {c: i + 2 for i, c in enumerate(CHARS)}
SRC_LEN, TGT_LEN = 10, 8


def all_pairs():
    for y in range(10, 30):
        for m, name in enumerate(MONTHS, 1):
            for d in range(1, 29):
                yield f"{d:02d} {name} {y}", f"{y}-{m:02d}-{d:02d}"
                yield f"{name} {d:02d}, {y}", f"{y}-{m:02d}-{d:02d}"


def to_ids(text, length, right=True):
    ids = [C2I[c] for c in text]
    pad = [PAD] * (length - len(ids))
    return ids + pad if right else pad + ids


def build(pairs):
    src = torch.tensor([to_ids(a, SRC_LEN, right=False) for a, _ in pairs])
    tgt = torch.tensor([to_ids(b, TGT_LEN) for _, b in pairs])
    return src, tgt


class Encoder(nn.Module):
    def __init__(self, vocab, emb, hid):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb, padding_idx=PAD)
        self.rnn = nn.GRU(emb, hid, batch_first=True)

    def forward(self, src):
        _, hidden = self.rnn(self.embedding(src))
        return hidden


class Decoder(nn.Module):
    def __init__(self, vocab, emb, hid):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb)
        self.rnn = nn.GRU(emb, hid, batch_first=True)
        self.fc = nn.Linear(hid, vocab)

    def forward(self, tokens, hidden):
        out, hidden = self.rnn(self.embedding(tokens), hidden)
        return self.fc(out), hidden


def repackage_hidden(h):
    """Wraps hidden states in new Tensors, so that batches stay independent."""
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def shift(tgt):
    return torch.cat([torch.full((len(tgt), 1), SOS), tgt[:, :-1]], 1)


def forward_loss(encoder, decoder, criterion, src, tgt):
    hidden = repackage_hidden(encoder(src))
    logits, _ = decoder(shift(tgt), hidden)
    return criterion(logits.flatten(0, 1), tgt.flatten())


@torch.no_grad()
def translate(encoder, decoder, src):
    hidden = encoder(src)
    token = torch.full((len(src), 1), SOS)
    result = []
    for _ in range(TGT_LEN):
        logits, hidden = decoder(token, hidden)
        token = logits.argmax(-1)
        result.append(token)
    return torch.cat(result, 1)


def main():
    torch.manual_seed(21)
    pairs = random.Random(21).sample(list(all_pairs()), 4400)
    train_src, train_tgt = build(pairs[:4000])
    val_src, val_tgt = build(pairs[4000:])
    vocab = len(CHARS) + 2
    encoder, decoder = Encoder(vocab, 24, 96), Decoder(vocab, 24, 96)
    params = list(encoder.parameters()) + list(decoder.parameters())
    optimizer = torch.optim.Adam(params, lr=4e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(1, 13):
        total = count = 0
        for b in torch.randperm(len(train_src)).split(64):
            optimizer.zero_grad()
            loss = forward_loss(encoder, decoder, criterion, train_src[b], train_tgt[b])
            loss.backward()
            nn.utils.clip_grad_norm_(params, 5.0)
            optimizer.step()
            total, count = total + loss.item(), count + 1
        with torch.no_grad():
            vloss = forward_loss(encoder, decoder, criterion, val_src, val_tgt).item()
        exact = (translate(encoder, decoder, val_src) == val_tgt).all(1).float().mean().item()
        print(f"epoch {epoch:2d}  train {total / count:.4f}  val {vloss:.4f}  exact match {exact:.3f}")


if __name__ == "__main__":
    main()
