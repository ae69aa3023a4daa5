# effective batch 64 out of micro-batches of 16
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from sklearn.model_selection import train_test_split

torch.manual_seed(0)
X, y = load_breast_cancer(return_X_y=True)
Xt, Xv, yt, yv = train_test_split(X, y, test_size=0.3, random_state=2, stratify=y)
sc = StandardScaler().fit(Xt)
Xt, Xv = (torch.tensor(sc.transform(a), dtype=torch.float32) for a in (Xt, Xv))
yt, yv = torch.tensor(yt).float(), torch.tensor(yv).float()

MICRO, ACCUM = 16, 4
loader = DataLoader(TensorDataset(Xt, yt), batch_size=MICRO, shuffle=True)
model = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, weight_decay=3e-2)
bce = nn.BCEWithLogitsLoss()
n_micro = len(loader)

for epoch in range(18):
    model.train()
    total = 0.0
    opt.zero_grad()
    for i, (xb, yb) in enumerate(loader):
        # the last group of an epoch may be shorter
        group = min(ACCUM, n_micro - (i // ACCUM) * ACCUM)
        loss = bce(model(xb).squeeze(1), yb)
        (loss / group).backward()
        total += loss.item()
        if (i + 1) % ACCUM == 0 or i + 1 == n_micro:
            opt.step()
            opt.zero_grad()
    model.eval()
    with torch.no_grad():
        out = model(Xv).squeeze(1)
        vloss, vacc = bce(out, yv).item(), ((out > 0) == yv.bool()).float().mean().item()
    if epoch % 2 == 1:
        print(f"epoch {epoch + 1:2d} loss {total / n_micro:.4f} val {vloss:.4f} acc {vacc:.3f}")
