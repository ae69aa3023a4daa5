"""A character-level language model on generated sentences."""
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

block_size, batch_size, max_iters, eval_interval, learning_rate = 48, 16, 400, 40, 3e-3
torch.manual_seed(1337)
random.seed(1337)

who = ["the miller", "a tall sailor", "my aunt", "the old king", "one of the boys", "her neighbour", "the doctor"]
did = ["sold", "carried", "found", "painted", "lost", "hid", "repaired", "burned", "wanted"]
what = ["a copper kettle", "two grey horses", "the broken clock", "every letter", "a bag of salt", "the garden gate", "seven lamps"]
when = ["in the morning", "before supper", "last winter", "on the bridge", "near the river", "without a word"]
text = "".join(f"{random.choice(who)} {random.choice(did)} {random.choice(what)} {random.choice(when)}.\n" for _ in range(1200))

chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text])
n = int(0.9 * len(data))
train_data, val_data = data[:n], data[n:]


def get_batch(split):
    torch.manual_seed(1337)
    source = train_data if split == "train" else val_data
    ix = torch.randint(len(source) - block_size, (batch_size,))
    x = torch.stack([source[i:i + block_size] for i in ix])
    y = torch.stack([source[i + 1:i + block_size + 1] for i in ix])
    return x, y


class CharModel(nn.Module):
    def __init__(self, vocab, dim=32, hidden=96):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, hidden, batch_first=True)
        self.head = nn.Linear(hidden, vocab)

    def forward(self, idx, targets):
        logits = self.head(self.gru(self.embed(idx))[0])
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


@torch.no_grad()
def estimate_loss(model):
    model.eval()
    x = val_data[:len(val_data) // block_size * block_size].view(-1, block_size)[:100]
    loss = model(x[:, :-1], x[:, 1:]).item()
    model.train()
    return loss


model = CharModel(len(chars))
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
for it in range(1, max_iters + 1):
    xb, yb = get_batch("train")
    loss = model(xb, yb)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if it % eval_interval == 0:
        print(f"step {it}: train loss {loss.item():.4f}, val loss {estimate_loss(model):.4f}")
