# skip-gram with negative sampling over the text of python's help topics
import re
from collections import Counter
from pydoc_data.topics import topics

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
words = re.findall(r"[a-z]+", " ".join(topics[k] for k in sorted(topics)).lower())
vocab = [w for w, c in Counter(words).most_common() if c >= 3]
idx = {w: i for i, w in enumerate(vocab)}
ids = torch.tensor([idx[w] for w in words if w in idx])
print(len(ids), "tokens,", len(vocab), "words")
offset = torch.cat([torch.arange(-3, 0), torch.arange(1, 4)])
pos = torch.arange(3, len(ids) - 3)
held = torch.rand(len(pos)) < 0.1
noise = torch.bincount(ids, minlength=len(vocab)).float().pow(0.75)

DIM, NEG, BATCH = 32, 5, 512
centre = nn.Embedding(len(vocab), DIM, sparse=True)
context = nn.Embedding(len(vocab), DIM, sparse=True)
nn.init.normal_(centre.weight, std=0.1)
nn.init.normal_(context.weight, std=0.1)
opt = torch.optim.SparseAdam(list(centre.parameters()) + list(context.parameters()), lr=0.01)


def sgns(p):
    o = offset[torch.randint(0, 6, (len(p),))]
    c = centre(ids[p]).unsqueeze(1)
    neg = torch.multinomial(noise, len(p) * NEG, replacement=True).view(len(p), NEG)
    cand = torch.cat([ids[p + o].unsqueeze(1), neg], 1)
    score = (c * context(cand)).sum(-1)
    label = torch.zeros_like(score)
    label[:, 0] = 1.0
    return F.binary_cross_entropy_with_logits(score, label)


pool, val = pos[~held], pos[held]
run = 0.0
for step in range(1, 601):
    loss = sgns(pool[torch.randint(0, len(pool), (BATCH,))])
    opt.zero_grad()
    loss.backward()
    opt.step()
    run += loss.item()
    if step % 100 == 0:
        with torch.no_grad():
            v = sgns(val).item()
        print(f"step {step} train {run / 100:.4f} val {v:.4f}")
        run = 0.0
with torch.no_grad():
    e = F.normalize(centre.weight, dim=1)
    for w in ("class", "integer"):
        near = (e @ e[idx[w]]).topk(6).indices[1:]
        print(w, "->", ", ".join(vocab[i] for i in near))
