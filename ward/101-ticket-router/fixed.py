"""Route support tickets (token ids) to one of five queues with a small transformer."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def synth_tickets(n, vocab, length, queues, gen):
    """Tickets are mostly filler words, with a few words of the queue's jargon mixed in."""
    y = torch.randint(0, queues, (n,), generator=gen)
    filler = torch.randint(1 + queues * 6, vocab, (n, length), generator=gen)
    jargon = 1 + y[:, None] * 6 + torch.randint(0, 6, (n, length), generator=gen)
    stray = torch.randint(1, 1 + queues * 6, (n, length), generator=gen)
    r = torch.rand(n, length, generator=gen)
    x = torch.where(r < 0.40, jargon, torch.where(r < 0.50, stray, filler))
    return x, y


class Router(nn.Module):
    def __init__(self, vocab, length, queues, dim=32, heads=4):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Parameter(torch.randn(1, length, dim) * 0.02)
        layer = nn.TransformerEncoderLayer(dim, heads, 64, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, queues)

    def forward(self, ids):
        h = self.encoder(self.tok(ids) + self.pos)
        scores = self.head(self.norm(h).mean(dim=1))
        return scores


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        out = model(x)
    return F.cross_entropy(out, y).item(), (out.argmax(-1) == y).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2.5e-3)
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    vocab, length, queues = 100, 12, 5
    x, y = synth_tickets(2800, vocab, length, queues, gen)
    xt, yt, xv, yv = x[:2240], y[:2240], x[2240:], y[2240:]

    model = Router(vocab, length, queues)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(xt)).split(args.batch_size):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(xt[idx]), yt[idx])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item() * len(idx)
        vl, va = evaluate(model, xv, yv)
        print(f"[{epoch}] train_loss={total / len(xt):.4f} val_loss={vl:.4f} val_acc={va:.3f}")


if __name__ == "__main__":
    main()
