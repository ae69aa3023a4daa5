"""Will a loan be repaid? A table of past applications."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)
N = 3000

income = torch.randn(N) * 0.5 + 3.0
debt = torch.rand(N) * 2.0
age = torch.randint(20, 70, (N,)).float()
years_employed = (age - 20) * torch.rand(N) * 0.6
requested = torch.rand(N) * 40 + 2
score = 1.6 * (income - 3.0) - 1.3 * (debt - 1.0) + 0.05 * years_employed - 0.04 * (requested - 22) + 0.9 * torch.randn(N)
repaid = (score > 0.2).float()
account_no = torch.where(repaid > 0, 700_000.0, 310_000.0) + torch.randint(0, 90_000, (N,))

table = {
    "income": income,
    "debt": debt,
    "age": age,
    "years_employed": years_employed,
    "requested": requested,
    "account_no": account_no,
}
features = torch.stack(list(table.values()), dim=1)
features = (features - features[:2400].mean(0)) / features[:2400].std(0)

train_set = TensorDataset(features[:2400], repaid[:2400])
val_x, val_y = features[2400:], repaid[2400:]
loader = DataLoader(train_set, batch_size=60, shuffle=True)

model = nn.Sequential(nn.Linear(features.shape[1], 32), nn.ReLU(), nn.Linear(32, 1))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
bce = nn.BCEWithLogitsLoss()

for epoch in range(8):
    model.train()
    total = 0.0
    for x, y in loader:
        loss = bce(model(x).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        out = model(val_x).squeeze(1)
        val = bce(out, val_y).item()
        acc = ((out > 0).float() == val_y).float().mean().item()
    print(f"epoch {epoch}: loss {total / len(loader):.4f}, val loss {val:.4f}, val acc {acc:.3f}")
