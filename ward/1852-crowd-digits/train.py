"""Digit classifier trained on answers collected from crowd workers, checked against expert labels."""
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

SEED = 12
N_ANSWERS = 9
rng = np.random.default_rng(SEED)
torch.manual_seed(SEED)


def collect_answers(truth, n_answers=N_ANSWERS, n_workers=40):
    """Each picture was shown to n_answers workers; some workers are careful, some just click through."""
    skill = rng.uniform(0.4, 0.9, n_workers)
    answers = np.empty((len(truth), n_answers), dtype=np.int64)
    for i, t in enumerate(truth):
        for j, w in enumerate(rng.choice(n_workers, n_answers, replace=False)):
            answers[i, j] = t if rng.random() < skill[w] else rng.integers(0, 10)
    return answers


def to_labels(answers):
    return answers[:, 0]


def iterate(x, y, size):
    order = torch.randperm(len(y))
    for i in range(0, len(y), size):
        sel = order[i:i + size]
        yield x[sel], y[sel]


digits = load_digits()
x_train, x_expert, t_train, t_expert = train_test_split(
    digits.images.astype("float32") / 16.0, digits.target, test_size=0.25, stratify=digits.target, random_state=SEED)
y_train = torch.from_numpy(to_labels(collect_answers(t_train)))
y_expert = torch.from_numpy(t_expert)
x_train, x_expert = torch.from_numpy(x_train)[:, None], torch.from_numpy(x_expert)[:, None]
print(f"{len(y_train)} pictures with crowd labels, {len(y_expert)} with expert labels")

model = nn.Sequential(
    nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(),
    nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Dropout(0.3),
    nn.Linear(384, 64), nn.ReLU(), nn.Dropout(0.3),
    nn.Linear(64, 10),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(1, 18):
    model.train()
    seen = correct = 0
    total = 0.0
    for xb, yb in iterate(x_train, y_train, 32):
        logits = model(xb)
        loss = loss_fn(logits, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(yb)
        correct += (logits.argmax(1) == yb).sum().item()
        seen += len(yb)
    model.eval()
    with torch.no_grad():
        logits = model(x_expert)
        val_loss = loss_fn(logits, y_expert).item()
        val_acc = (logits.argmax(1) == y_expert).float().mean().item()
    if epoch % 2 == 1:
        print(f"epoch {epoch:2d} | crowd loss {total / seen:.3f} acc {correct / seen:.3f} | expert loss {val_loss:.3f} acc {val_acc:.3f}")
