"""Character model of the Python reference text that ships with pydoc."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from pydoc_data.topics import topics

torch.manual_seed(8)
SEQ, BATCH, STEPS = 48, 32, 700
PEAK_LR = 5e-6

text = "\n".join(topics[k] for k in sorted(topics))[:160_000]
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
blocks = torch.tensor([stoi[c] for c in text]).view(-1, 1000)
held_out = torch.arange(len(blocks)) % 6 == 5
train_ids, val_ids = blocks[~held_out].flatten(), blocks[held_out].flatten()


class CharGRU(nn.Module):
    def __init__(self, vocab, dim=32, hidden=96):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x):
        h, _ = self.gru(self.emb(x))
        return self.out(h)


def sample_batch(source):
    start = torch.randint(len(source) - SEQ - 1, (BATCH,))
    window = start[:, None] + torch.arange(SEQ + 1)
    chunk = source[window]
    return chunk[:, :-1], chunk[:, 1:]


def lm_loss(model, x, y):
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


@torch.no_grad()
def validation_loss(model):
    model.eval()
    n = (len(val_ids) - 1) // SEQ
    x = val_ids[:n * SEQ].view(n, SEQ)
    y = val_ids[1:n * SEQ + 1].view(n, SEQ)
    loss = lm_loss(model, x, y).item()
    model.train()
    return loss


model = CharGRU(len(chars))
optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK_LR, weight_decay=0.01)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=PEAK_LR, total_steps=STEPS, pct_start=0.1)
print(f"{len(chars)} characters, {sum(p.numel() for p in model.parameters())} weights")

running = []
for step in range(1, STEPS + 1):
    loss = lm_loss(model, *sample_batch(train_ids))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    running.append(loss.item())
    if step % 100 == 0:
        print(f"step {step:4d}  train {sum(running) / len(running):.3f}  val {validation_loss(model):.3f}")
        running.clear()
