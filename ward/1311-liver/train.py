import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(9)
rng = np.random.default_rng(9)

# Liver panel. Columns follow the usual sheet:
# age, bilirubin (log), alk. phosphatase (log), ALT (log), AST (log), protein, albumin, A/G ratio, gender, selector
def sheet(n):
    disease = rng.random(n) < 0.58
    d = disease.astype(float)
    cols = [
        rng.normal(44, 16, n) + 4 * d,
        rng.normal(0.1, 0.6, n) + 0.9 * d,
        rng.normal(5.3, 0.35, n) + 0.4 * d,
        rng.normal(3.3, 0.5, n) + 0.7 * d,
        rng.normal(3.4, 0.5, n) + 0.8 * d,
        rng.normal(6.6, 1.0, n) - 0.2 * d,
        rng.normal(3.4, 0.7, n) - 0.5 * d,
        rng.normal(1.0, 0.25, n) - 0.15 * d,
        (rng.random(n) < 0.7).astype(float),
        np.where(disease, 1, 2),
    ]
    return np.stack(cols, 1)


table = sheet(4000)
X = torch.tensor(table[:, :9], dtype=torch.float32)
y = torch.tensor(table[:, 9], dtype=torch.float32).view(-1, 1)

X = (X - X[:3200].mean(0)) / X[:3200].std(0)
Xtr, ytr, Xte, yte = X[:3200], y[:3200], X[3200:], y[3200:]

model = nn.Sequential(
    nn.Linear(9, 32),
    nn.ReLU(),
    nn.BatchNorm1d(32),
    nn.Dropout(0.2),
    nn.Linear(32, 16),
    nn.ReLU(),
    nn.Linear(16, 1),
)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

EPOCHS = 30
BATCH = 64
for e in range(1, EPOCHS + 1):
    model.train()
    epoch_loss = epoch_acc = 0
    for i in torch.randperm(len(Xtr)).split(BATCH):
        optimizer.zero_grad()
        y_pred = model(Xtr[i])
        loss = criterion(y_pred, ytr[i])
        acc = (torch.round(torch.sigmoid(y_pred)) == ytr[i]).float().mean()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()
        epoch_acc += acc.item()
    if e % 3 == 0:
        model.eval()
        with torch.no_grad():
            out = model(Xte)
            tl = criterion(out, yte).item()
            ta = (torch.round(torch.sigmoid(out)) == yte).float().mean().item()
        print(f"Epoch {e:03}: | Loss: {epoch_loss / (3200 // BATCH):.5f} | Acc: {100 * epoch_acc / (3200 // BATCH):.2f} | Test loss: {tl:.5f} | Test acc: {100 * ta:.2f}")
