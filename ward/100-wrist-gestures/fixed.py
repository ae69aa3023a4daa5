# %% imports
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(42)

# %% wrist band recordings: 24 features per window, 6 gestures, 3 ways of doing each
centres = torch.randn(6, 3, 24) * 1.1
label = torch.randint(0, 6, (5000,))
variant = torch.randint(0, 3, (5000,))
feats = centres[label, variant] + torch.randn(5000, 24)
feats = (feats - feats[:4000].mean(0)) / feats[:4000].std(0)

train_dl = DataLoader(TensorDataset(feats[:4000], label[:4000]), batch_size=100, shuffle=True)
x_val, y_val = feats[4000:], label[4000:]
print(feats.shape, torch.bincount(label))

# %% model
model = nn.Sequential(
    nn.Linear(24, 64),
    nn.BatchNorm1d(64),
    nn.ReLU(),
    nn.Dropout(0.1),
    nn.Linear(64, 32),
    nn.ReLU(),
    nn.Linear(32, 6),
)
loss_fn = nn.CrossEntropyLoss()
opt = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9, weight_decay=1e-4)

# %% train
history = {"loss": [], "val_loss": [], "val_acc": []}
for epoch in range(12):
    model.train()
    running = 0.0
    for xb, yb in train_dl:
        opt.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        opt.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        out = model(x_val)
        history["loss"].append(running / len(train_dl))
        history["val_loss"].append(loss_fn(out, y_val).item())
        history["val_acc"].append((out.argmax(1) == y_val).float().mean().item())
    print(f"epoch {epoch + 1:2d}", {k: round(v[-1], 4) for k, v in history.items()})

# %% confusion matrix
cm = torch.zeros(6, 6, dtype=torch.long)
for t, p in zip(y_val, out.argmax(1)):
    cm[t, p] += 1
print(cm)
