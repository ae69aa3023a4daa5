"""Will the reader renew the loan? Embeddings of reader and shelf."""
import torch
import torch.nn as nn

torch.manual_seed(5)
g = torch.Generator().manual_seed(50)
READERS, SHELVES = 200, 40
reader = torch.randint(1, READERS + 1, (3000,), generator=g)
shelf = torch.randint(0, SHELVES, (3000,), generator=g)
taste = torch.randn(READERS + 1, 3, generator=g)
theme = torch.randn(SHELVES, 3, generator=g)
y = ((taste[reader] * theme[shelf]).sum(1) + 0.3 * torch.randn(3000, generator=g) > 0).float()


class Renewal(nn.Module):
    def __init__(self, readers, shelves, d=8):
        super().__init__()
        self.reader = nn.Embedding(readers, d)
        self.shelf = nn.Embedding(shelves, d)
        nn.init.normal_(self.reader.weight, std=0.3)
        nn.init.normal_(self.shelf.weight, std=0.3)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, r, s):
        return (self.reader(r) * self.shelf(s)).sum(1) + self.bias


model = Renewal(READERS + 1, SHELVES)
opt = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-4)
order = torch.randperm(3000, generator=g)
train, test = order[:2600], order[2600:]
for epoch in range(5):
    model.train()
    tot = 0.0
    for n, idx in enumerate(train[torch.randperm(2600)].split(40)):
        loss = nn.functional.binary_cross_entropy_with_logits(model(reader[idx], shelf[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(idx) / 2600
        if epoch == 0 and n == 0:
            print(f"first batch {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        acc = ((model(reader[test], shelf[test]) > 0).float() == y[test]).float().mean().item()
    print(f"epoch {epoch} loss {tot:.4f} test accuracy {acc:.3f}")
