import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(14)
rng = np.random.default_rng(14)
TOPICS, WORDS, LENGTH, READERS = 6, 600, 24, 7


def tickets(n):
    """Support tickets as word ids, their topics, and the answers of the readers who sorted them."""
    own = rng.dirichlet(np.full(WORDS, 0.08), size=TOPICS)
    common = rng.dirichlet(np.full(WORDS, 0.5))
    topic = rng.integers(TOPICS, size=n)
    mix = 0.45 * own + 0.55 * common
    words = np.stack([rng.choice(WORDS, LENGTH, p=mix[t]) for t in topic])
    unsure = rng.random((n, READERS)) < 0.33
    answers = np.where(unsure, rng.integers(TOPICS, size=(n, READERS)), topic[:, None])
    return words, answers


class TopicModel(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.words = nn.EmbeddingBag(WORDS, dim, mode="mean")
        self.body = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Dropout(0.5), nn.Linear(32, TOPICS))

    def forward(self, x):
        return self.body(self.words(x))


words, answers = tickets(3200)
X = torch.from_numpy(words)
y = torch.from_numpy(answers[:, 0])
X_train, y_train, X_val, y_val = X[:2600], y[:2600], X[2600:], y[2600:]

model = TopicModel()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.05)
for epoch in range(9):
    model.train()
    total = right = 0.0
    for b in torch.randperm(len(y_train)).split(32):
        out = model(X_train[b])
        loss = nn.functional.cross_entropy(out, y_train[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(b)
        right += (out.argmax(1) == y_train[b]).sum().item()
    model.eval()
    with torch.no_grad():
        out = model(X_val)
        v_loss = nn.functional.cross_entropy(out, y_val).item()
        v_acc = (out.argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch + 1:2d} train {total / len(y_train):.3f} acc {right / len(y_train):.3f} | val {v_loss:.3f} acc {v_acc:.3f}")
