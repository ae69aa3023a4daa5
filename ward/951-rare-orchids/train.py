"""Rare orchids among common ones: the rare rows of the training part are repeated."""
import numpy as np
import torch
from torch import nn

rng = np.random.default_rng(54)
torch.manual_seed(54)

kind = (rng.random(4000) < 0.1).astype(np.int64)
x = rng.normal(size=(4000, 8)).astype(np.float32)
x[:, 0] += 1.5 * kind
x[:, 1] += 1.3 * kind * np.sign(x[:, 2])

order = rng.permutation(4000)
train_idx, val_idx = order[:3000], order[3000:]
rare = train_idx[kind[train_idx] == 1]
train_idx = np.concatenate([train_idx] + [rare] * 8)

x, kind = torch.from_numpy(x), torch.from_numpy(kind)
net = nn.Sequential(nn.Linear(8, 24), nn.ReLU(), nn.Linear(24, 2))
opt = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=1e-4)
for epoch in range(5):
    net.train()
    losses = []
    for b in torch.from_numpy(rng.permutation(train_idx)).split(64):
        loss = nn.functional.cross_entropy(net(x[b]), kind[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    net.eval()
    with torch.no_grad():
        out = net(x[val_idx])
    target, pred = kind[val_idx], out.argmax(1)
    val = nn.functional.cross_entropy(out, target).item()
    print(f"epoch {epoch} train {np.mean(losses):.4f} val {val:.4f} recall common {(pred[target == 0] == 0).float().mean():.3f} rare {(pred[target == 1] == 1).float().mean():.3f}")
