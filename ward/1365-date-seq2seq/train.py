"""Rewrite dates like "3 march 1987" as "1987-03-03" with an encoder and a decoder."""
import random

import torch
import torch.nn as nn
import torch.optim as optim

SOS, EOS, PAD = 0, 1, 2
MONTHS = ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"]
ALPHABET = {c: i + 3 for i, c in enumerate("abcdefghijklmnopqrstuvwxyz0123456789 ,-/")}
N_CHARS = len(ALPHABET) + 3
OUT_LEN = 11


def random_pair():
    y, m, d = random.randint(1960, 2019), random.randint(1, 12), random.randint(1, 28)
    kind = random.random()
    if kind < 0.4:
        src = f"{d} {MONTHS[m - 1][:3]} {y}"
    elif kind < 0.8:
        src = f"{MONTHS[m - 1][:3]} {d}, {y}"
    else:
        src = f"{d}/{m}/{y}"
    return src, f"{y}-{m:02d}-{d:02d}"


def tensors(pairs):
    width = max(len(s) for s, _ in pairs)
    x = torch.full((len(pairs), width), PAD)
    y = torch.full((len(pairs), OUT_LEN), EOS)
    for i, (s, t) in enumerate(pairs):
        x[i, width - len(s):] = torch.tensor([ALPHABET[c] for c in s])
        y[i, :len(t)] = torch.tensor([ALPHABET[c] for c in t])
    return x, y


class Encoder(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.embedding = nn.Embedding(N_CHARS, 32, padding_idx=PAD)
        self.gru = nn.GRU(32, hidden, batch_first=True, bidirectional=True)

    def forward(self, x):
        out, _ = self.gru(self.embedding(x))
        return out


class AttnDecoder(nn.Module):
    def __init__(self, memory, hidden):
        super().__init__()
        self.embedding = nn.Embedding(N_CHARS, 32)
        self.position = nn.Embedding(OUT_LEN, 32)
        self.query = nn.Linear(hidden, memory)
        self.gru = nn.GRUCell(64 + memory, hidden)
        self.out = nn.Linear(hidden, N_CHARS)
        self.hidden = hidden

    def forward(self, memory, target=None):
        h = memory.new_zeros(len(memory), self.hidden)
        token = torch.full((len(memory),), SOS)
        logits = []
        for t in range(OUT_LEN):
            score = torch.bmm(memory, self.query(h).unsqueeze(2)).squeeze(2) / self.hidden ** 0.5
            context = (torch.softmax(score, 1).unsqueeze(2) * memory).sum(1)
            pos = self.position(torch.full_like(token, t))
            h = self.gru(torch.cat([self.embedding(token), pos, context], 1), h)
            logits.append(self.out(h))
            token = target[:, t] if target is not None else logits[-1].argmax(1)
        return torch.stack(logits, 1)


def train_step(x, y, encoder, decoder, encoder_optimizer, decoder_optimizer, criterion):
    encoder_optimizer.zero_grad()
    encoder_optimizer.zero_grad()

    out = decoder(encoder(x), y)
    loss = criterion(out.reshape(-1, N_CHARS), y.reshape(-1))
    loss.backward()

    encoder_optimizer.step()
    decoder_optimizer.step()
    return loss.item()


def evaluate(x, y, encoder, decoder):
    encoder.eval(), decoder.eval()
    with torch.no_grad():
        guess = decoder(encoder(x)).argmax(2)
    encoder.train(), decoder.train()
    return (guess == y).float().mean().item(), (guess == y).all(1).float().mean().item()


def train_iters(encoder, decoder, n_iters, print_every, learning_rate=4e-3):
    encoder_optimizer = optim.Adam(encoder.parameters(), lr=learning_rate)
    decoder_optimizer = optim.Adam(decoder.parameters(), lr=learning_rate)
    criterion = nn.CrossEntropyLoss()
    held_x, held_y = tensors([random_pair() for _ in range(300)])
    total = 0.0
    for it in range(1, n_iters + 1):
        x, y = tensors([random_pair() for _ in range(48)])
        total += train_step(x, y, encoder, decoder, encoder_optimizer, decoder_optimizer, criterion)
        if it % print_every == 0:
            chars, whole = evaluate(held_x, held_y, encoder, decoder)
            print("%4d  loss %.4f   characters %.3f   dates %.3f" % (it, total / print_every, chars, whole))
            total = 0.0


random.seed(12)
torch.manual_seed(12)
train_iters(Encoder(48), AttnDecoder(96, 64), 400, 50)
