import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import average_precision_score, balanced_accuracy_score


def machines(n, rng):
    """Spectra of motors (24 bands, standardised by the logger); 4 % have a worn bearing."""
    fault = (rng.random(n) < 0.04).astype(np.float32)
    load = rng.normal(0, 1, (n, 1))
    spectrum = rng.normal(0, 1, (n, 24)) * 0.8 + load * np.linspace(-0.6, 0.6, 24)
    wear = rng.uniform(1.8, 3.2, n) * fault
    for band in (5, 10, 15, 20):
        spectrum[:, band] += wear
    return torch.tensor(spectrum, dtype=torch.float32), torch.tensor(fault)


rng = np.random.default_rng(40)
torch.manual_seed(40)
X, y = machines(24000, rng)
Xv, yv = machines(5000, rng)
positive = y.mean()
criterion = nn.BCEWithLogitsLoss(pos_weight=(1 - positive) / positive)
print(f"faults: {positive.item():.3%} of {len(y)}, weight {criterion.pos_weight.item():.1f}")

net = nn.Sequential(nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 1))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=2e-2)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 15)
for epoch in range(1, 16):
    net.train()
    total = 0.0
    for idx in torch.randperm(len(y)).split(128):
        opt.zero_grad()
        loss = criterion(net(X[idx]).squeeze(1), y[idx])
        loss.backward()
        opt.step()
        total += loss.item() * len(idx) / len(y)
    sched.step()
    net.eval()
    with torch.no_grad():
        logit = net(Xv).squeeze(1)
        vloss = criterion(logit, yv).item()
    guess = (logit > 0).numpy()
    print(f"{epoch:2d}: train {total:.4f} val {vloss:.4f} balanced acc {balanced_accuracy_score(yv.numpy(), guess):.3f} "
          f"AP {average_precision_score(yv.numpy(), logit.numpy()):.3f} recall {guess[yv.numpy() == 1].mean():.3f}")
