# which value was stored under the asked key?
import torch
import torch.nn as nn

torch.manual_seed(2)
KEYS, VALUES, SLOTS, DIM = 20, 10, 8, 32


def draw(n):
    """n memories of SLOTS (key, value) pairs with different keys, a question and the right value"""
    keys = torch.rand(n, KEYS).argsort(1)[:, :SLOTS]
    values = torch.randint(0, VALUES, (n, SLOTS))
    slot = torch.randint(0, SLOTS, (n, 1))
    return keys, values, keys.gather(1, slot)[:, 0], values.gather(1, slot)[:, 0]


class MemoryReader(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = nn.Embedding(KEYS, DIM)
        self.value = nn.Embedding(VALUES, DIM)
        self.attention = nn.MultiheadAttention(DIM, 2, batch_first=True)
        self.norm = nn.LayerNorm(DIM)
        self.ff = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Linear(64, DIM))
        self.out = nn.Linear(DIM, VALUES)

    def forward(self, keys, values, asked):
        memory = self.key(keys) + self.value(values)
        query = self.key(asked).unsqueeze(1)
        found, weights = self.attention(query, memory, memory)
        h = self.norm(query).squeeze(1)
        return self.out(h + self.ff(h))


model = MemoryReader()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
loss_fn = nn.CrossEntropyLoss()
test = draw(1000)
running = None
for step in range(1, 241):
    *question, answer = draw(64)
    loss = loss_fn(model(*question), answer)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running = loss.item() if running is None else 0.95 * running + 0.05 * loss.item()
    if step % 40 == 0:
        model.eval()
        with torch.no_grad():
            out = model(*test[:3])
            print(f"{step:4d} train {running:.4f} test {loss_fn(out, test[3]):.4f} acc {(out.argmax(1) == test[3]).float().mean():.3f}")
        model.train()
