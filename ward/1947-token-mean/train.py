"""Tag every token of a sentence; sentences are long and short, micro-batches are accumulated."""
import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, TAGS, MAX = 60, 6, 24
PAD = -100


def sentences(n, seed):
    """A token's tag depends on the token and on its left neighbour."""
    g = torch.Generator().manual_seed(seed)
    rule = torch.randint(0, TAGS, (VOCAB, 4), generator=torch.Generator().manual_seed(0))
    x = torch.randint(1, VOCAB, (n, MAX), generator=g)
    left = torch.roll(x, 1, 1)
    left[:, 0] = 0
    y = rule[x, left % 4]
    flip = torch.rand(n, MAX, generator=g) < 0.03
    y[flip] = torch.randint(0, TAGS, (int(flip.sum()),), generator=g)
    length = torch.randint(4, MAX + 1, (n, 1), generator=g)
    out = torch.arange(MAX) >= length
    return x.masked_fill(out, 0), y.masked_fill(out, PAD)


class Tagger(nn.Module):
    def __init__(self, dim=32, hidden=48):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, TAGS)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.out(h)


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        out = model(x)
    keep = y != PAD
    return F.cross_entropy(out[keep], y[keep]).item(), (out.argmax(-1)[keep] == y[keep]).float().mean().item()


def main(micro=8, accumulate=4, epochs=12):
    torch.manual_seed(6)
    x, y = sentences(1600, 1)
    xv, yv = sentences(300, 2)
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for epoch in range(epochs):
        model.train()
        total = tokens = 0
        for group in torch.randperm(len(x)).split(micro * accumulate):
            count = (y[group] != PAD).sum()
            for rows in group.split(micro):
                loss = F.cross_entropy(model(x[rows]).flatten(0, 1), y[rows].flatten(), ignore_index=PAD, reduction="sum") / count
                loss.backward()
                total += loss.item() * count.item()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            tokens += count.item()
        scheduler.step()
        v, acc = evaluate(model, xv, yv)
        print(f"epoch {epoch + 1:2d}: train {total / tokens:.4f} per token, val {v:.4f}, val acc {acc:.3f}")


if __name__ == "__main__":
    main()
