# Verdict of paper reviews (accept / reject) from bags of words. EmbeddingBag, no padding.
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(14)
rng = torch.Generator().manual_seed(14)

COMMON = [f"w{i}" for i in range(30)]
PRAISE = "novel clear rigorous elegant thorough convincing strong timely".split()
BLAME = "unclear incremental weak missing flawed confusing marginal unconvincing".split()
VOCAB = {w: i for i, w in enumerate(COMMON + PRAISE + BLAME)}


def pick(words, k):
    return [words[i] for i in torch.randint(len(words), (k,), generator=rng).tolist()]


def reviews(n):
    out = []
    for _ in range(n):
        reject = torch.rand(1, generator=rng).item() < 0.78
        good = (torch.rand(5, generator=rng) < (0.34 if reject else 0.66)).sum().item()
        words = pick(COMMON, 6) + pick(PRAISE, good) + pick(BLAME, 5 - good)
        out.append(([VOCAB[w] for w in words], int(reject)))
    return out


def pack(rows):
    flat = torch.tensor([w for words, _ in rows for w in words])
    offsets = torch.tensor([0] + [len(words) for words, _ in rows[:-1]]).cumsum(0)
    return flat, offsets, torch.tensor([y for _, y in rows])


class Verdict(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.bag = nn.EmbeddingBag(len(VOCAB), dim, mode="sum")
        self.out = nn.Linear(dim, 2)
        nn.init.normal_(self.bag.weight, std=0.1)

    def forward(self, flat, offsets):
        return self.out(F.relu(self.bag(flat, offsets)))


train, valid = reviews(2000), reviews(500)
counts = torch.bincount(torch.tensor([y for _, y in train]), minlength=2).float()
class_weights = counts.sum() / counts
class_weights = class_weights / class_weights.mean()
print("accepts/rejects:", counts.tolist(), "weights:", class_weights.tolist())

model = Verdict()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
v_flat, v_off, v_y = pack(valid)
for epoch in range(1, 6):
    model.train()
    total = 0.0
    order = torch.randperm(len(train)).tolist()
    for i in range(0, len(order), 50):
        flat, offsets, y = pack([train[j] for j in order[i:i + 50]])
        loss = F.cross_entropy(model(flat, offsets), y, weight=class_weights)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        out = model(v_flat, v_off)
        pred = out.argmax(1)
        vl = F.cross_entropy(out, v_y, weight=class_weights)
    recalls = [(pred[v_y == c] == c).float().mean().item() for c in (0, 1)]
    print(f"epoch {epoch}: train {total / 40:.4f} valid {vl:.4f} acc {(pred == v_y).float().mean():.3f} "
          f"accept recall {recalls[0]:.2f} reject recall {recalls[1]:.2f}")
