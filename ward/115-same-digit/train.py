# Do two pictures show the same digit? Siamese encoder and a small comparison head.
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def make_pairs(x, y, n, gen):
    a = torch.randint(0, len(y), (n,), generator=gen)
    b = torch.randint(0, len(y), (n,), generator=gen)
    # every other pair is made a match
    odds = torch.rand(n // 2, len(y), generator=gen) * (y[a[::2], None] == y)
    b[::2] = odds.argmax(1)
    return x[a], x[b], (y[a] == y[b]).float()


torch.manual_seed(2)
gen = torch.Generator().manual_seed(2)
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
labels = torch.tensor(digits.target)
order = torch.randperm(len(labels), generator=gen)
images, labels = images[order], labels[order]

encoder = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 12))
compare = nn.Linear(12, 1)


def similarity(a, b):
    d = (encoder(a) - encoder(b)) ** 2
    return compare(d).squeeze(1)


encoder_params = encoder.parameters()
print("encoder parameters:", sum(p.numel() for p in encoder_params))
optimizer = torch.optim.Adam([*encoder_params, *compare.parameters()], lr=1e-2)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.87)

test_a, test_b, test_t = make_pairs(images[1300:], labels[1300:], 600, gen)
for epoch in range(1, 10):
    a, b, t = make_pairs(images[:1300], labels[:1300], 2000, gen)
    total = 0.0
    for idx in torch.randperm(len(t), generator=gen).split(80):
        loss = F.binary_cross_entropy_with_logits(similarity(a[idx], b[idx]), t[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    scheduler.step()
    with torch.no_grad():
        s = similarity(test_a, test_b)
        test_loss = F.binary_cross_entropy_with_logits(s, test_t).item()
        acc = ((s > 0).float() == test_t).float().mean().item()
    print(f"epoch {epoch} loss {total / len(t):.4f} test loss {test_loss:.4f} test acc {acc:.3f}")
