import random

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(1)
random.seed(1)

SOS, EOS, PAD = 0, 1, 2
SRC = {c: i for i, c in enumerate("0123456789")}
TGT = {c: i + 3 for i, c in enumerate("IVXLCDM")}


def to_roman(n):
    table = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"),
             (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
    out = ""
    for value, sym in table:
        while n >= value:
            out += sym
            n -= value
    return out


def tensors_from_numbers(numbers, max_len=15):
    src = torch.tensor([[SRC[c] for c in f"{n:04d}"] for n in numbers])
    tgt = torch.full((len(numbers), max_len + 1), PAD)
    for row, n in enumerate(numbers):
        ids = [TGT[c] for c in to_roman(n)][:max_len] + [EOS]
        tgt[row, :len(ids)] = torch.tensor(ids)
    return src, tgt


class EncoderRNN(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.embedding = nn.Embedding(10, hidden)
        self.gru = nn.GRU(hidden, hidden, batch_first=True)

    def forward(self, x):
        return self.gru(self.embedding(x))


class DecoderRNN(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.embedding = nn.Embedding(10, hidden)
        self.gru = nn.GRU(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 10)

    def forward(self, tokens, h):
        y, h = self.gru(self.embedding(tokens), h)
        return self.out(y), h


def train_step(src, tgt, encoder, decoder, encoder_optimizer, decoder_optimizer, criterion):
    encoder_optimizer.zero_grad()
    decoder_optimizer.zero_grad()
    _, hidden = encoder(src)
    inp = torch.cat([torch.full((len(src), 1), SOS), tgt[:, :-1]], 1)
    logits, _ = decoder(inp, hidden)
    loss = criterion(logits.flatten(0, 1), tgt.flatten())
    loss.backward()
    encoder_optimizer.step()
    encoder_optimizer.step()
    return loss.item()


def evaluate(numbers, encoder, decoder):
    src, tgt = tensors_from_numbers(numbers)
    with torch.no_grad():
        _, hidden = encoder(src)
        tok, outs = torch.full((len(src), 1), SOS), []
        for _ in range(tgt.shape[1]):
            logits, hidden = decoder(tok, hidden)
            tok = logits.argmax(-1)
            outs.append(tok)
    pred = torch.cat(outs, 1)
    keep = tgt != PAD
    return (pred[keep] == tgt[keep]).float().mean().item()


numbers = random.sample(range(1, 4000), 3500)
train_numbers, test_numbers = numbers[:3000], numbers[3000:]
encoder, decoder = EncoderRNN(48), DecoderRNN(48)
encoder_optimizer = optim.Adam(encoder.parameters(), lr=4e-3)
decoder_optimizer = optim.Adam(decoder.parameters(), lr=4e-3)
criterion = nn.CrossEntropyLoss(ignore_index=PAD)

running = 0.0
for it in range(1, 301):
    src, tgt = tensors_from_numbers(random.sample(train_numbers, 48))
    running += train_step(src, tgt, encoder, decoder, encoder_optimizer, decoder_optimizer, criterion)
    if it % 50 == 0:
        print(f"({it} {it * 100 // 300}%) loss {running / 50:.4f}  test char acc {evaluate(test_numbers[:200], encoder, decoder):.3f}")
        running = 0.0
