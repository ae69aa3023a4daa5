"""Assign abstracts to topics with a small recurrent network."""
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

SEED = 7
random.seed(SEED)
torch.manual_seed(SEED)

THEMES = {
    "vision": "image pixel camera object scene depth stereo contour mask frame".split(),
    "speech": "audio phoneme speaker voice acoustic pitch utterance noise microphone vowel".split(),
    "graphs": "node edge degree clique path spectral tree community walk cut".split(),
    "robots": "arm grasp gripper joint torque planner motion contact drone sensor".split(),
    "finance": "market price asset risk option hedge yield credit portfolio bond".split(),
}
COMMON = "we propose a method that learns the model from data and improves over strong baselines in several tasks".split()


def abstract(theme):
    rest = [w for t, ws in THEMES.items() if t != theme for w in ws]
    words = random.choices(THEMES[theme], k=5) + random.choices(rest, k=4) + random.choices(COMMON, k=random.randint(8, 16))
    random.shuffle(words)
    return words


def corpus(n):
    topics = [random.choice(list(THEMES)) for _ in range(n)]
    return [(abstract(t), t) for t in topics]


train_docs, test_docs = corpus(2000), corpus(600)

words = set(w for doc, _ in train_docs for w in doc)
vocab = {w: i + 2 for i, w in enumerate(words)}
labels = {t: i for i, t in enumerate(THEMES)}


def encode(docs):
    return [(torch.tensor([vocab.get(w, 1) for w in doc]), labels[t]) for doc, t in docs]


class GRUTagger(nn.Module):
    def __init__(self, size, dim=24, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(size, dim, padding_idx=0)
        self.rnn = nn.GRU(dim, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, len(THEMES))

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))
        keep = (ids != 0).unsqueeze(-1)
        return self.out(h.masked_fill(~keep, -1e4).amax(1))


def batches(items, size, shuffle):
    items = random.sample(items, len(items)) if shuffle else items
    for i in range(0, len(items), size):
        part = items[i:i + size]
        yield pad_sequence([p[0] for p in part], batch_first=True), torch.tensor([p[1] for p in part])


train_items, test_items = encode(train_docs), encode(test_docs)
model = GRUTagger(len(vocab) + 2)
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(1, 8):
    model.train()
    total = count = 0
    for ids, target in batches(train_items, 32, True):
        opt.zero_grad()
        loss = loss_fn(model(ids), target)
        loss.backward()
        opt.step()
        total += loss.item()
        count += 1
    model.eval()
    with torch.no_grad():
        right = sum((model(ids).argmax(1) == target).sum().item() for ids, target in batches(test_items, 100, False))
    print(f"epoch {epoch} loss {total / count:.6f} test accuracy {right / len(test_items):.4f}")
