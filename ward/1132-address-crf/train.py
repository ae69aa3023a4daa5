"""BIO tagging of address lines with a linear-chain CRF in log space."""
import random

import torch
import torch.nn as nn

TAGS = ["O", "B-NUM", "I-NUM", "B-STR", "I-STR"]
NEG = float("-inf")
STREETS = ["oak lane", "high street", "king road", "mill hill road", "abbey lane", "old church street", "park avenue"]
WORDS = "please send the parcel to my flat at near opposite behind shop and call me when you old oak park high hill arrive".split()


def example(rng):
    toks, tags = [], []

    def add(words, kind=None):
        for i, w in enumerate(words):
            toks.append(w)
            tags.append("O" if kind is None else ("B-" if i == 0 else "I-") + kind)

    add(rng.choices(WORDS, k=rng.randint(1, 5)))
    num = [str(rng.randint(1, 60))]
    if rng.random() < 0.3:
        num.append(rng.choice("abc"))
    add(num, "NUM")
    add(rng.choice(STREETS).split(), "STR")
    add(rng.choices(WORDS, k=rng.randint(0, 4)))
    return toks, tags


def transition_mask():
    m = torch.zeros(len(TAGS), len(TAGS))
    for j, to in enumerate(TAGS):
        if to.startswith("I-"):
            for i, frm in enumerate(TAGS):
                if frm[2:] != to[2:]:
                    m[i, j] = NEG
    start = torch.tensor([NEG if t.startswith("I-") else 0.0 for t in TAGS])
    return m, start


class CRFTagger(nn.Module):
    def __init__(self, vocab, dim=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.emit = nn.Linear(2 * dim, len(TAGS))
        self.trans = nn.Parameter(0.1 * torch.randn(len(TAGS), len(TAGS)))
        mask, start = transition_mask()
        self.register_buffer("allowed", mask)
        self.register_buffer("start", start)

    def scores(self, ids):
        return self.emit(self.lstm(self.emb(ids))[0]), self.trans + self.allowed

    def nll(self, ids, tags, mask):
        e, trans = self.scores(ids)
        alpha = self.start + e[:, 0]
        gold = alpha.gather(1, tags[:, :1]).squeeze(1)
        for t in range(1, ids.shape[1]):
            nxt = torch.logsumexp(alpha.unsqueeze(2) + trans, dim=1) + e[:, t]
            alpha = torch.where(mask[:, t, None], nxt, alpha)
            step = trans[tags[:, t - 1], tags[:, t]] + e[:, t].gather(1, tags[:, t:t + 1]).squeeze(1)
            gold = gold + torch.where(mask[:, t], step, torch.zeros(()))
        return (torch.logsumexp(alpha, dim=1) - gold).mean()

    @torch.no_grad()
    def decode(self, ids, mask):
        e, trans = self.scores(ids)
        delta, back = self.start + e[:, 0], []
        for t in range(1, ids.shape[1]):
            best, arg = (delta.unsqueeze(2) + trans).max(dim=1)
            delta = torch.where(mask[:, t, None], best + e[:, t], delta)
            back.append(torch.where(mask[:, t, None], arg, torch.arange(len(TAGS)).expand_as(arg)))
        path = [delta.argmax(1)]
        for arg in reversed(back):
            path.append(arg.gather(1, path[-1].unsqueeze(1)).squeeze(1))
        return torch.stack(path[::-1], 1)


def collate(rows, vocab):
    n = max(len(t) for t, _ in rows)
    ids, tags = torch.zeros(len(rows), n, dtype=torch.long), torch.zeros(len(rows), n, dtype=torch.long)
    for i, (toks, tg) in enumerate(rows):
        ids[i, :len(toks)] = torch.tensor([vocab.get(w, 1) for w in toks])
        tags[i, :len(tg)] = torch.tensor([TAGS.index(t) for t in tg])
    return ids, tags, ids > 0


if __name__ == "__main__":
    rng = random.Random(90)
    torch.manual_seed(90)
    rows = [example(rng) for _ in range(1200)]
    train, dev = rows[:960], rows[960:]
    vocab = {w: i + 2 for i, w in enumerate(sorted({w for toks, _ in train for w in toks}))}
    model = CRFTagger(len(vocab) + 2)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    dids, dtags, dmask = collate(dev, vocab)
    for epoch in range(4):
        rng.shuffle(train)
        total = 0.0
        for i in range(0, len(train), 32):
            loss = model.nll(*collate(train[i:i + 32], vocab))
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        with torch.no_grad():
            dloss = model.nll(dids, dtags, dmask).item()
        acc = (model.decode(dids, dmask) == dtags)[dmask].float().mean().item()
        print(f"epoch {epoch} nll {total / (len(train) / 32):.4f} dev nll {dloss:.4f} dev tag acc {acc:.4f}")
