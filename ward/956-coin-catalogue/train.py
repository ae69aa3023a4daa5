"""Ancient coins, six mints, label smoothing."""
import torch
from torch import nn

torch.manual_seed(59)
MINTS = 6
types = torch.randn(MINTS, 20)


class Coins(torch.utils.data.Dataset):
    def __init__(self, n):
        self.mint = torch.randint(MINTS, (n,))
        self.x = types[self.mint] + 0.7 * torch.randn(n, 20)

    def __len__(self):
        return len(self.mint)

    def __getitem__(self, i):
        return self.x[i], self.mint[i]


train = torch.utils.data.DataLoader(Coins(2000), batch_size=40, shuffle=True)
val = Coins(500)
net = nn.Sequential(nn.Linear(20, 40), nn.GELU(), nn.Linear(40, MINTS))
loss_fn = nn.CrossEntropyLoss(label_smoothing=0.2)
opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.01)
for epoch in range(8):
    net.train()
    total, hits = 0.0, 0
    for x, y in train:
        out = net(x)
        loss = loss_fn(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / len(train)
        hits += (out.argmax(1) == y).sum().item()
    net.eval()
    with torch.no_grad():
        out = net(val.x)
    print(f"epoch {epoch} loss {total:.4f} acc {hits / 2000:.3f} val {loss_fn(out, val.mint).item():.4f} acc {(out.argmax(1) == val.mint).float().mean().item():.3f}")
