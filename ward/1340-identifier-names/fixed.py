# n-gram MLP that makes up new Python identifiers, letter by letter (homework 3)
import builtins
import keyword
import random
import sys

import torch
import torch.nn.functional as F

# ---- words: every lower-case name the standard library gives us
mods = ["os", "os.path", "re", "json", "math", "random", "string", "shutil", "socket", "ssl", "email", "http.client", "logging", "inspect",
        "threading", "subprocess", "tarfile", "zipfile", "pathlib", "statistics", "calendar", "difflib", "tokenize", "ast", "typing",
        "collections", "itertools", "functools", "textwrap", "argparse", "datetime", "decimal", "fractions", "pickle", "csv", "unittest"]
words = set(keyword.kwlist) | set(dir(builtins))
for m in mods:
    try:
        __import__(m)
    except ImportError:
        continue
    mod = sys.modules[m]
    for name in dir(mod):
        words.add(name)
        obj = getattr(mod, name)
        if isinstance(obj, type):
            words.update(dir(obj))
words = sorted({part for w in words for part in w.lower().split("_") if part.isascii() and part.isalpha() and 3 <= len(part) <= 12})
random.seed(42)
random.shuffle(words)
print(len(words), "words, e.g.", words[:6])

chars = "." + "abcdefghijklmnopqrstuvwxyz"
stoi = {c: i for i, c in enumerate(chars)}
CTX = 3


def build(ws):
    X, Y = [], []
    for w in ws:
        ctx = [0] * CTX
        for ch in w + ".":
            X.append(ctx)
            Y.append(stoi[ch])
            ctx = ctx[1:] + [stoi[ch]]
    return torch.tensor(X), torch.tensor(Y)


n1 = int(0.85 * len(words))
Xtr, Ytr = build(words[:n1])
Xdev, Ydev = build(words[n1:])

# ---- parameters
g = torch.Generator().manual_seed(2147483647)
n_emb, n_hid = 8, 100
C = torch.randn((27, n_emb), generator=g)
W1 = torch.randn((n_emb * CTX, n_hid), generator=g) * (2 / (n_emb * CTX)) ** 0.5
b1 = torch.zeros(n_hid)
W2 = torch.randn((n_hid, 27), generator=g) * 0.1
b2 = torch.zeros(27)
params = [C, W1, b1, W2, b2]
for p in params:
    p.requires_grad = True
print("parameters:", sum(p.nelement() for p in params))


def logits_of(X):
    h = F.relu(C[X].view(-1, n_emb * CTX) @ W1 + b1)
    return h @ W2 + b2


@torch.no_grad()
def split_loss(X, Y):
    return F.cross_entropy(logits_of(X), Y).item()


steps = 9000
for i in range(steps):
    ix = torch.randint(0, Xtr.shape[0], (64,), generator=g)
    loss = F.cross_entropy(logits_of(Xtr[ix]), Ytr[ix])
    for p in params:
        p.grad = None
    loss.backward()
    lr = 0.1 if i < 6000 else 0.02
    for p in params:
        p.data += -lr * p.grad
    if i % 1000 == 0:
        print(f"{i:6d}/{steps}: batch {loss.item():.4f}  dev {split_loss(Xdev, Ydev):.4f}")
print(f"train {split_loss(Xtr, Ytr):.4f}  dev {split_loss(Xdev, Ydev):.4f}")

for _ in range(8):
    out, ctx = [], [0] * CTX
    while len(out) < 15:
        p = F.softmax(logits_of(torch.tensor([ctx])), dim=1)
        k = torch.multinomial(p[0], 1, generator=g).item()
        if k == 0:
            break
        out.append(chars[k])
        ctx = ctx[1:] + [k]
    print("".join(out))
