"""Learn (a + b) mod p from half of the addition table."""
import torch
import torch.nn as nn
import torch.nn.functional as F

P, DIM, HIDDEN = 29, 48, 128
STEPS, FRACTION = 3000, 0.5

torch.manual_seed(0)
table = torch.cartesian_prod(torch.arange(P), torch.arange(P))
answer = table.sum(1) % P
order = torch.randperm(P * P)
cut = int(FRACTION * P * P)
train_ids, test_ids = order[:cut], order[cut:]


class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(P, DIM)
        self.hidden = nn.Linear(2 * DIM, HIDDEN)
        self.out = nn.Linear(HIDDEN, P)

    def forward(self, ab):
        return self.out(F.relu(self.hidden(self.embed(ab).flatten(1))))


model = Adder()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1.0, betas=(0.9, 0.98))
for step in range(1, STEPS + 1):
    model.train()
    loss = F.cross_entropy(model(table[train_ids]), answer[train_ids])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 200 == 0:
        model.eval()
        with torch.no_grad():
            out = model(table[test_ids])
            test_loss = F.cross_entropy(out, answer[test_ids]).item()
            acc = (out.argmax(1) == answer[test_ids]).float().mean().item()
        print(f"step {step:5d}  train loss {loss.item():.4f}  test loss {test_loss:.4f}  test acc {acc:.3f}")
