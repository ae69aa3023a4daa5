import random

import torch
import torch.nn as nn

torch.manual_seed(10)
docs = {f.__doc__ for kind in (str, bytes, list, dict, set, frozenset, int, float, tuple, range, memoryview, complex)
        for name, f in vars(kind).items() if not name.startswith("__") and getattr(f, "__doc__", None)}
docs = sorted(" ".join(d.lower().split()) for d in docs)
random.Random(1).shuffle(docs)
text = " ".join(docs)
alphabet = sorted(set(text))
code = {c: i for i, c in enumerate(alphabet)}
ids = torch.tensor([code[c] for c in text])
split = int(0.88 * len(ids))
train_ids, val_ids = ids[:split], ids[split:]
BLOCK = 24


class CharTransformer(nn.Module):
    def __init__(self, vocab, dim=48, heads=4, layers=2):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(BLOCK, dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 3 * dim, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, vocab)

    def forward(self, idx):
        T = idx.size(1)
        x = self.tok(idx) + self.pos(torch.arange(T))
        mask = nn.Transformer.generate_square_subsequent_mask(T)
        x = self.encoder(x, mask=mask, is_causal=True)
        return self.out(self.norm(x))


def get_batch(source, n):
    start = torch.randint(0, len(source) - BLOCK - 1, (n,))
    rows = torch.stack([source[s:s + BLOCK + 1] for s in start])
    return rows[:, :-1], rows[:, 1:]


@torch.no_grad()
def next_char_loss(model, source, n=300):
    """Loss on the character after a window, as when writing text."""
    x, y = get_batch(source, n)
    return nn.functional.cross_entropy(model(x)[:, -1], y[:, -1]).item()


@torch.no_grad()
def write(model, prompt, n=40):
    out = [code[c] for c in prompt]
    for _ in range(n):
        logits = model(torch.tensor(out[-BLOCK:])[None])[0, -1]
        out.append(torch.multinomial(torch.softmax(logits, -1), 1).item())
    return "".join(alphabet[i] for i in out)


model = CharTransformer(len(alphabet))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, total_iters=20)
for step in range(1, 181):
    model.train()
    x, y = get_batch(train_ids, 16)
    logits = model(x)
    loss = nn.functional.cross_entropy(logits.reshape(-1, len(alphabet)), y.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    warmup.step()
    if step % 20 == 0:
        model.eval()
        print(f"step {step:3d}  loss {loss.item():.3f}  next char (val) {next_char_loss(model, val_ids):.3f}")
print(write(model, "return a copy of the str"))
