"""Predict the next letter of a standard library module name from the three letters before it."""
import sys

import torch
import torch.nn.functional as F

words = sorted({w for m in sys.stdlib_module_names for w in m.lower().split("_") if w.isalpha() and len(w) > 2})
alphabet = "." + "".join(sorted(set("".join(words))))
stoi = {c: i for i, c in enumerate(alphabet)}
CONTEXT, EMB, HIDDEN = 3, 12, 160


def windows(ws):
    xs, ys = [], []
    for w in ws:
        ctx = [0] * CONTEXT
        for ch in w + ".":
            xs.append(ctx)
            ys.append(stoi[ch])
            ctx = ctx[1:] + [stoi[ch]]
    return torch.tensor(xs), torch.tensor(ys)


g = torch.Generator().manual_seed(2147483647)
order = torch.randperm(len(words), generator=g).tolist()
cut = int(0.85 * len(words))
Xtr, Ytr = windows([words[i] for i in order[:cut]])
Xva, Yva = windows([words[i] for i in order[cut:]])

V = len(alphabet)
C = torch.randn(V, EMB, generator=g)
W1 = torch.randn(CONTEXT * EMB, HIDDEN, generator=g) * (2 / (CONTEXT * EMB)) ** 0.5
W2 = torch.randn(HIDDEN, V, generator=g) * HIDDEN ** -0.5
b1, b2 = torch.zeros(HIDDEN), torch.zeros(V)
params = [C, W1, b1, W2, b2]
for p in params:
    p.requires_grad_()


def forward(X):
    h = torch.relu(C[X].flatten(1) @ W1 + b1)
    return h @ W2 + b2


print(f"{len(words)} words, {len(Xtr)} windows, {sum(p.numel() for p in params)} parameters")
steps, lr = 400, 0.05
for step in range(steps):
    ix = torch.randint(0, len(Xtr), (64,), generator=g)
    loss = F.cross_entropy(forward(Xtr[ix]), Ytr[ix])
    for p in params:
        p.grad = None
    loss.backward()
    for p in params:
        p.data -= lr * p.grad
    if step % 50 == 0 or step == steps - 1:
        with torch.no_grad():
            print(f"{step:4d}: batch {loss.item():.4f}  dev {F.cross_entropy(forward(Xva), Yva).item():.4f}")
