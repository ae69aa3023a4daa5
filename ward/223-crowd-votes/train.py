"""Every item was scored by annotators; their scores become a soft target."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)
N, D, C = 2400, 12, 5
true_w = torch.randn(D, C)
X = torch.randn(N, D)
scores = X @ true_w + 0.3 * torch.randn(N, C)
targets = torch.softmax(scores / 1.5, dim=1)

train_dl = DataLoader(TensorDataset(X[:1800], targets[:1800]), batch_size=60, shuffle=True)
Xv, tv = X[1800:], targets[1800:]
model = nn.Sequential(nn.Linear(D, 32), nn.GELU(), nn.Linear(32, C))
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
print(f"entropy of the targets {-(tv * tv.log()).sum(1).mean().item():.4f}")

for epoch in range(1, 13):
    model.train()
    total = 0.0
    for xb, tb in train_dl:
        opt.zero_grad()
        loss = loss_fn(model(xb), tb)
        loss.backward()
        opt.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        out = model(Xv)
        val = loss_fn(out, tv).item()
        agree = (out.argmax(1) == tv.argmax(1)).float().mean().item()
    print(f"epoch {epoch:2d} train ce {total / len(train_dl):.4f} val ce {val:.4f} agreement {agree:.3f}")
