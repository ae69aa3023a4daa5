"""Do two short recipes describe the same dish? Bags of words, one encoder, cosine."""
import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(17)
torch.manual_seed(17)
VOCAB, DISHES = 120, 12
profile = rng.dirichlet(np.full(VOCAB, 0.08), DISHES)


def bag(dish):
    """words that survive the spell checker"""
    words = rng.choice(VOCAB, size=int(rng.integers(2, 14)), p=profile[dish])
    kept = words[rng.random(len(words)) < 0.9]
    b = np.zeros(VOCAB, dtype=np.float32)
    np.add.at(b, kept, 1.0)
    return b


def pairs(n):
    left, right, same = [], [], []
    for _ in range(n):
        d = rng.integers(DISHES)
        s = rng.random() < 0.5
        e = d if s else (d + rng.integers(1, DISHES)) % DISHES
        left.append(bag(d)), right.append(bag(e)), same.append(float(s))
    return torch.tensor(np.array(left)), torch.tensor(np.array(right)), torch.tensor(same)


class Twin(nn.Module):
    def __init__(self, d=24):
        super().__init__()
        self.proj = nn.Linear(VOCAB, d, bias=False)
        self.mix = nn.Linear(d, d, bias=False)
        self.scale = nn.Parameter(torch.tensor(4.0))
        self.shift = nn.Parameter(torch.tensor(0.0))

    def encode(self, bags):
        return self.mix(torch.tanh(self.proj(bags)))

    def forward(self, left, right):
        a, b = self.encode(left), self.encode(right)
        cos = nn.functional.cosine_similarity(a, b, dim=1)
        return self.scale * cos + self.shift


net = Twin()
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
bce = nn.BCEWithLogitsLoss()
for step in range(301):
    left, right, same = pairs(16)
    logits = net(left, right)
    loss = bce(logits, same)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 30 == 0:
        right_share = ((logits > 0).float() == same).float().mean().item()
        print("step %3d  loss %.4f  batch accuracy %.2f" % (step, loss.item(), right_share))
