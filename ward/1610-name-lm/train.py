import argparse
import random

import torch
import torch.nn as nn

HEADS = ["bel", "cor", "dan", "el", "fir", "gal", "har", "is", "kor", "lan", "mor", "nor", "or", "per", "ros", "sil", "tar", "val", "win", "yor"]
MIDS = ["a", "an", "e", "en", "i", "in", "o", "on", "u", "ar"]
TAILS = {"f": ["ia", "elle", "wen", "ith", "a"], "m": ["dor", "rick", "mund", "as", "us"], "p": ["ton", "ford", "burg", "wick", "dale"]}


def make_line(rng):
    kind = rng.choice("fmp")
    name = rng.choice(HEADS) + rng.choice(MIDS) + (rng.choice(MIDS) if kind == "p" else "") + rng.choice(TAILS[kind])
    return f"{kind}:{name}\n"


class CharLM(nn.Module):
    def __init__(self, n_chars, dim=24, hidden=96):
        super().__init__()
        self.embed = nn.Embedding(n_chars, dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.decode = nn.Linear(hidden, n_chars)

    def forward(self, x, state=None):
        h, state = self.lstm(self.embed(x), state)
        return self.decode(h), state


def chunks(ids, length):
    n = (len(ids) - 1) // length
    return ids[:n * length].view(n, length), ids[1:n * length + 1].view(n, length)


@torch.no_grad()
def generate(model, chars, prompt, n=60):
    model.eval()
    out, state = prompt, None
    x = torch.tensor([[chars.index(c) for c in prompt]])
    for _ in range(n):
        logits, state = model(x, state)
        x = torch.multinomial(logits[:, -1].softmax(-1), 1)
        out += chars[x.item()]
    return out.replace("\n", " ")


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--bptt", type=int, default=40)
    args = ap.parse_args()

    torch.manual_seed(0)
    rng = random.Random(0)
    text = "".join(make_line(rng) for _ in range(6000))
    chars = sorted(set(text))
    ids = torch.tensor([chars.index(c) for c in text])
    cut = int(0.9 * len(ids))
    x, y = chunks(ids[:cut], args.bptt)
    xv, yv = chunks(ids[cut:], args.bptt)
    model = CharLM(len(chars))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    loss_fn = nn.CrossEntropyLoss()
    step = 0
    for epoch in range(args.epochs):
        for b in torch.randperm(len(x)).split(args.batch):
            model.train()
            logits, _ = model(x[b])
            loss = loss_fn(logits.flatten(0, 1), y[b].flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            step += 1
            if step % 20 == 0:
                model.eval()
                with torch.no_grad():
                    val = loss_fn(model(xv)[0].flatten(0, 1), yv.flatten()).item()
                print(f"epoch {epoch} step {step} train {loss.item():.3f} val {val:.3f}")
    print(generate(model, chars, "p:"))


if __name__ == "__main__":
    main()
