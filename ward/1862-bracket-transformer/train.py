"""Transformer encoder that labels each token of a sequence with how often it occurred before (mod 4)."""
import argparse

import torch
import torch.nn as nn


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--dim", type=int, default=48)
    p.add_argument("--layers", type=int, default=6)
    p.add_argument("--heads", type=int, default=4)
    p.add_argument("--length", type=int, default=16)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--seed", type=int, default=0)
    return p.parse_args()


def draw(n, length, n_symbols=8, generator=None):
    x = torch.randint(0, n_symbols, (n, length), generator=generator)
    same = x.unsqueeze(2) == x.unsqueeze(1)
    earlier = torch.tril(torch.ones(length, length, dtype=torch.bool), diagonal=-1)
    return x, (same & earlier).sum(-1).clamp(max=3)


class Counter(nn.Module):
    def __init__(self, args, n_symbols=8, n_out=4):
        super().__init__()
        self.tok = nn.Embedding(n_symbols, args.dim)
        self.pos = nn.Parameter(0.1 * torch.randn(args.length, args.dim))
        layer = nn.TransformerEncoderLayer(args.dim, args.heads, 2 * args.dim, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, args.layers)
        self.out = nn.Linear(args.dim, n_out)
        for p in self.encoder.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, x):
        return self.out(self.encoder(self.tok(x) + self.pos))


def loss_and_acc(model, x, y):
    logits = model(x)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten())
    return loss, (logits.argmax(-1) == y).float().mean().item()


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    model = Counter(args)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: 1 - s / args.steps)
    x_val, y_val = draw(300, args.length, generator=torch.Generator().manual_seed(1))
    print(f"{sum(p.numel() for p in model.parameters())} parameters")
    running = 0.0
    for step in range(1, args.steps + 1):
        x, y = draw(args.batch, args.length)
        loss, _ = loss_and_acc(model, x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        running += loss.item()
        if step % 25 == 0:
            model.eval()
            with torch.no_grad():
                vloss, vacc = loss_and_acc(model, x_val, y_val)
            model.train()
            print(f"step {step:4d}  train {running / 25:.4f}  val {vloss.item():.4f}  val acc {vacc:.3f}")
            running = 0.0


if __name__ == "__main__":
    main()
