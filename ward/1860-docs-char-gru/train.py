"""Character language model on the Python reference manual that ships with the interpreter."""
import math

import torch
import torch.nn as nn
from pydoc_data.topics import topics

SEQ_LEN = 48
BATCH_SIZE = 32
HIDDEN = 96
LEARNING_RATE = 0.1
STEPS = 500
REPORT = 50

torch.manual_seed(77)

text = "".join(c for k in sorted(topics)[:45] for c in topics[k].lower() if c.isascii())
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
n_train = int(0.9 * len(data))
train_data, val_data = data[:n_train], data[n_train:]
print(f"{len(data)} characters, {len(chars)} symbols")


def sample_batch(source, size, generator=None):
    starts = torch.randint(0, len(source) - SEQ_LEN - 1, (size,), generator=generator)
    window = torch.stack([source[s:s + SEQ_LEN + 1] for s in starts.tolist()])
    return window[:, :-1], window[:, 1:]


class CharGRU(nn.Module):
    def __init__(self, n_symbols, dim=32, hidden=HIDDEN):
        super().__init__()
        self.embed = nn.Embedding(n_symbols, dim)
        self.gru = nn.GRU(dim, hidden, batch_first=True)
        self.decode = nn.Linear(hidden, n_symbols)

    def forward(self, x, state=None):
        h, state = self.gru(self.embed(x), state)
        return self.decode(h), state

    @torch.no_grad()
    def sample(self, prompt, length=60):
        idx = torch.tensor([[stoi[c] for c in prompt]])
        state, out = None, prompt
        for _ in range(length):
            logits, state = self(idx, state)
            idx = torch.multinomial(torch.softmax(logits[:, -1] / 0.8, -1), 1)
            out += chars[idx.item()]
        return out


def nll(model, x, y):
    logits, _ = model(x)
    return nn.functional.cross_entropy(logits.reshape(-1, len(chars)), y.reshape(-1))


model = CharGRU(len(chars))
optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
x_val, y_val = sample_batch(val_data, 200, torch.Generator().manual_seed(0))
running = 0.0
for step in range(1, STEPS + 1):
    loss = nll(model, *sample_batch(train_data, BATCH_SIZE))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    running += loss.item()
    if step % REPORT == 0:
        model.eval()
        with torch.no_grad():
            val = nll(model, x_val, y_val).item()
        model.train()
        print(f"step {step:4d} train {running / REPORT:.3f} val {val:.3f} ppl {math.exp(val):.2f}")
        running = 0.0
print(repr(model.sample("the ")))
