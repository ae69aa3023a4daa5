# makes more words, after the makemore lectures
import random
import re
import torch
import torch.nn.functional as F
from pydoc_data.topics import topics

words = sorted(set(re.findall(r"[a-z]{3,12}", " ".join(topics.values()).lower())))
random.seed(42)
random.shuffle(words)
stoi = {s: i + 1 for i, s in enumerate("abcdefghijklmnopqrstuvwxyz")}
stoi["."] = 0
itos = {i: s for s, i in stoi.items()}
block_size = 3


def build_dataset(words):
    X, Y = [], []
    for w in words:
        context = [0] * block_size
        for ch in w + ".":
            X.append(context)
            Y.append(stoi[ch])
            context = context[1:] + [stoi[ch]]
    return torch.tensor(X), torch.tensor(Y)


n = int(0.85 * len(words))
Xtr, Ytr = build_dataset(words[:n])
Xdev, Ydev = build_dataset(words[n:])
print(len(words), "words", Xtr.shape, Xdev.shape)

g = torch.Generator().manual_seed(2147483647)
C = torch.randn((27, 8), generator=g) * 0.5
W1 = torch.randn((8 * block_size, 64), generator=g) * (5 / 3) / (8 * block_size) ** 0.5
b1 = torch.zeros(64)
W2 = torch.randn((64, 27), generator=g) * 0.05
b2 = torch.zeros(27)
parameters = [C, W1, b1, W2, b2]
for p in parameters:
    p.requires_grad = True


def forward(X):
    h = torch.tanh(C[X].view(-1, 8 * block_size) @ W1 + b1)
    logits = h @ W2 + b2
    return logits


max_steps = 3000
lossi = []
for i in range(max_steps):
    ix = torch.randint(0, Xtr.shape[0], (64,), generator=g)
    loss = F.cross_entropy(forward(Xtr[ix]), Ytr[ix])
    for p in parameters:
        p.grad = None
    loss.backward()
    lr = 0.3 if i < 2000 else 0.03
    for p in parameters:
        p.data += -lr * p.grad
    lossi.append(loss.item())
    if i % 300 == 0 or i == max_steps - 1:
        print(f"{i:5d}/{max_steps}: {sum(lossi[-100:]) / len(lossi[-100:]):.4f}")

with torch.no_grad():
    for name, X, Y in (("train", Xtr, Ytr), ("dev", Xdev, Ydev)):
        print(name, round(F.cross_entropy(forward(X), Y).item(), 4))
