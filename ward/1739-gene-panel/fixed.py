import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(14)
np.random.seed(14)

N_GENES, N_SUBTYPES = 160, 4


def expression(n, signatures):
    """Log expression of n biopsies; every subtype has its signature, batch effects on top."""
    subtype = np.random.randint(0, N_SUBTYPES, n)
    x = np.random.randn(n, N_GENES) + signatures[subtype] * np.random.uniform(0.4, 1.1, (n, 1))
    x += 0.3 * np.random.randn(n, 3) @ np.random.randn(3, N_GENES) * 0.3
    return x.astype(np.float32), subtype


signatures = 0.24 * np.random.randn(N_SUBTYPES, N_GENES)
X, y = expression(1600, signatures)
X_ext, y_ext = expression(600, signatures)  # second hospital, opened at the very end

# hold a quarter out
n_train = int(0.75 * len(X))
order = np.random.permutation(len(X))
train_idx, val_idx = order[:n_train], order[n_train:]

mu, sd = X[train_idx].mean(0), X[train_idx].std(0)
X_train, X_val, X_ext = (torch.from_numpy((a - mu) / sd) for a in (X[train_idx], X[val_idx], X_ext))
y_train, y_val, y_ext = (torch.from_numpy(a) for a in (y[train_idx], y[val_idx], y_ext))
print(f"{len(y_train)} train, {len(y_val)} validation biopsies, {N_GENES} genes")


class Panel(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(N_GENES, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.5))
        self.mid = nn.Sequential(nn.Linear(width, 32), nn.ReLU())
        self.out = nn.Linear(32, N_SUBTYPES)

    def forward(self, x):
        return self.out(self.mid(self.enc(x)))


def evaluate(model, X, y):
    model.eval()
    with torch.no_grad():
        out = model(X)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


model = Panel()
opt = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.1)
EPOCHS = 18
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=5e-4, total_steps=EPOCHS * (-(-n_train // 45)))
best = 0.0
for epoch in range(EPOCHS):
    model.train()
    running = 0.0
    for b in torch.randperm(n_train).split(45):
        loss = F.cross_entropy(model(X_train[b]), y_train[b], label_smoothing=0.05)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        running += loss.item() * len(b) / n_train
    vl, va = evaluate(model, X_val, y_val)
    best = max(best, va)
    if epoch % 2 == 1:
        print(f"epoch {epoch + 1:2d}  train {running:.4f}  val {vl:.4f}  val acc {va:.3f}")

print(f"best validation accuracy {best:.3f}")
print("second hospital: loss %.4f  acc %.3f" % evaluate(model, X_ext, y_ext))
