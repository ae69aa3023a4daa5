"""Character language model on the sources of the standard library."""
import argparse
import importlib.util
import math

import torch
import torch.nn as nn

ap = argparse.ArgumentParser()
ap.add_argument("--modules", nargs="+", default=["argparse", "tarfile", "inspect", "subprocess"])
ap.add_argument("--block", type=int, default=32)
ap.add_argument("--batch", type=int, default=32)
ap.add_argument("--hidden", type=int, default=96)
ap.add_argument("--lr", type=float, default=8e-3)
ap.add_argument("--max-iters", type=int, default=700)
ap.add_argument("--eval-every", type=int, default=70)
ap.add_argument("--seed", type=int, default=1337)


class CharGRU(nn.Module):
    def __init__(self, n_chars, hidden):
        super().__init__()
        self.emb = nn.Embedding(n_chars, 32)
        self.gru = nn.GRU(32, hidden, batch_first=True)
        self.lm_head = nn.Linear(hidden, n_chars)

    def forward(self, idx, state=None):
        h, state = self.gru(self.emb(idx), state)
        return self.lm_head(h), state

    @torch.no_grad()
    def sample(self, idx, length):
        out, state, x = [], None, idx
        for _ in range(length):
            logits, state = self(x, state)
            x = torch.multinomial(torch.softmax(logits[:, -1] / 0.8, -1), 1)
            out.append(x.item())
        return out


def load_corpus(modules):
    text = ""
    for m in modules:
        with open(importlib.util.find_spec(m).origin, encoding="utf-8") as f:
            text += "".join(c for c in f.read() if ord(c) < 128)
    return text


def main():
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    text = load_corpus(args.modules)
    chars = sorted(set(text))
    stoi = {c: i for i, c in enumerate(chars)}
    blocks = torch.tensor([stoi[c] for c in text])
    blocks = blocks[:len(blocks) // 1024 * 1024].view(-1, 1024)
    blocks = blocks[torch.randperm(len(blocks))]
    n = int(0.9 * len(blocks))
    splits = {"train": blocks[:n].flatten(), "val": blocks[n:].flatten()}
    print(f"{len(text)} characters, {len(chars)} different")

    def get_batch(split, size):
        data = splits[split]
        ix = torch.randint(len(data) - args.block - 1, (size,))
        return (torch.stack([data[i:i + args.block] for i in ix]),
                torch.stack([data[i + 1:i + args.block + 1] for i in ix]))

    fixed_batches = {split: get_batch(split, 400) for split in splits}
    model = CharGRU(len(chars), args.hidden)
    loss_fn = nn.CrossEntropyLoss()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)

    def estimate(split):
        model.eval()
        with torch.no_grad():
            x, y = fixed_batches[split]
            loss = loss_fn(model(x)[0].flatten(0, 1), y.flatten()).item()
        model.train()
        return loss

    for it in range(1, args.max_iters + 1):
        x, y = get_batch("train", args.batch)
        logits, _ = model(x)
        loss = loss_fn(logits.flatten(0, 1), y.flatten())
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        if it % args.eval_every == 0:
            tr, va = estimate("train"), estimate("val")
            print(f"iter {it}: train loss {tr:.4f}, val loss {va:.4f}, val bits/char {va / math.log(2):.3f}")

    sample = model.sample(torch.tensor([[stoi["\n"]]]), 160)
    print("---\n" + "".join(chars[i] for i in sample))


if __name__ == "__main__":
    main()
