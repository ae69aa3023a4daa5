"""Seq2seq: '4 march 1987' -> '1987-03-04'"""
import datetime
import random
import time

import torch
import torch.nn as nn
from torch import optim
import torch.nn.functional as F

random.seed(3)
torch.manual_seed(3)

SOS, EOS, PAD = 0, 1, 2
FORMATS = ["%d %B %Y", "%d.%m.%Y", "%b %d %Y"]
IN_CHARS = {c: i + 3 for i, c in enumerate("abcdefghijklmnopqrstuvwxyz0123456789 .")}
OUT_CHARS = {c: i + 3 for i, c in enumerate("0123456789-")}
MAX_IN, MAX_OUT = 20, 11


def make_pair():
    d = datetime.date(1970, 1, 1) + datetime.timedelta(days=random.randrange(20000))
    return d.strftime(random.choice(FORMATS)).lower(), d.isoformat()


def tensorize(pairs):
    src = torch.full((len(pairs), MAX_IN), PAD)
    tgt = torch.full((len(pairs), MAX_OUT), PAD)
    for k, (a, b) in enumerate(pairs):
        ids = [IN_CHARS[c] for c in a] + [EOS]
        src[k, :len(ids)] = torch.tensor(ids)
        tgt[k] = torch.tensor([OUT_CHARS[c] for c in b] + [EOS])
    return src, tgt


class EncoderRNN(nn.Module):
    def __init__(self, n_chars, hidden):
        super().__init__()
        self.embedding = nn.Embedding(n_chars, hidden, padding_idx=PAD)
        self.gru = nn.GRU(hidden, hidden, batch_first=True)

    def forward(self, src):
        return self.gru(self.embedding(src))


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden, n_out):
        super().__init__()
        self.embedding = nn.Embedding(n_out, hidden)
        self.query = nn.Linear(hidden, hidden)
        self.gru = nn.GRU(2 * hidden, hidden, batch_first=True)
        self.out = nn.Linear(2 * hidden, n_out)

    def step(self, token, hidden, memory, mask):
        score = (memory @ self.query(hidden[-1]).unsqueeze(2)).squeeze(2).masked_fill(mask, -1e9)
        context = (score.softmax(1).unsqueeze(1) @ memory)
        o, hidden = self.gru(torch.cat([self.embedding(token), context], 2), hidden)
        return self.out(torch.cat([o, context], 2)).squeeze(1), hidden

    def forward(self, memory, hidden, mask, target=None):
        token = torch.full((memory.size(0), 1), SOS)
        outputs = []
        for t in range(MAX_OUT):
            logits, hidden = self.step(token, hidden, memory, mask)
            outputs.append(logits)
            token = target[:, t:t + 1] if target is not None else logits.argmax(1, keepdim=True)
        return torch.stack(outputs, 1)


def train_epoch(src, tgt, encoder, decoder, encoder_optimizer, decoder_optimizer, batch_size=32):
    total = 0.0
    for idx in torch.randperm(len(src)).split(batch_size):
        encoder_optimizer.zero_grad()
        decoder_optimizer.zero_grad()

        memory, hidden = encoder(src[idx])
        logits = decoder(memory, hidden, src[idx] == PAD, tgt[idx])
        loss = F.cross_entropy(logits.flatten(0, 1), tgt[idx].flatten())
        loss.backward()

        encoder_optimizer.step()
        decoder_optimizer.step()
        total += loss.item() * len(idx)
    return total / len(src)


@torch.no_grad()
def evaluate(src, tgt, encoder, decoder):
    memory, hidden = encoder(src)
    loss = F.cross_entropy(decoder(memory, hidden, src == PAD, tgt).flatten(0, 1), tgt.flatten()).item()
    greedy = decoder(memory, hidden, src == PAD).argmax(2)
    return loss, (greedy == tgt).all(1).float().mean().item()


train_src, train_tgt = tensorize([make_pair() for _ in range(3000)])
val_src, val_tgt = tensorize([make_pair() for _ in range(400)])
encoder = EncoderRNN(len(IN_CHARS) + 3, 64)
decoder = AttnDecoderRNN(64, len(OUT_CHARS) + 3)
n_epochs = 9
encoder_optimizer = optim.SGD(encoder.parameters(), lr=0.2, momentum=0.9)
decoder_optimizer = optim.SGD(decoder.parameters(), lr=0.2, momentum=0.9)
schedulers = [optim.lr_scheduler.CosineAnnealingLR(o, n_epochs) for o in (encoder_optimizer, decoder_optimizer)]

start = time.time()
for epoch in range(1, n_epochs + 1):
    loss = train_epoch(train_src, train_tgt, encoder, decoder, encoder_optimizer, decoder_optimizer)
    for s in schedulers:
        s.step()
    val_loss, exact = evaluate(val_src, val_tgt, encoder, decoder)
    print("%3ds (%d %d%%) %.4f   val %.4f   exact %.3f" % (time.time() - start, epoch, 100 * epoch // n_epochs, loss, val_loss, exact))
