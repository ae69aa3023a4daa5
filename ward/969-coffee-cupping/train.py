import copy

import torch
from torch import nn

torch.manual_seed(5)
N = 1824
X = torch.randn(N, 9)
taste = X[:, 0] + 0.7 * X[:, 1] * X[:, 2] - 0.5 * X[:, 3] + 1.1 * torch.randn(N)
y = (taste > 0).long()

order = torch.randperm(N)
train_ids, val_ids = order[:-24], order[-24:]
model = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 2))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

best_acc, best_state, best_epoch = 0.0, None, 0
for epoch in range(20):
    model.train()
    for ids in train_ids[torch.randperm(len(train_ids))].split(48):
        optimizer.zero_grad()
        loss = loss_fn(model(X[ids]), y[ids])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        out = model(X[val_ids])
        val_loss = loss_fn(out, y[val_ids]).item()
        acc = (out.argmax(1) == y[val_ids]).float().mean().item()
    if acc > best_acc:
        best_acc, best_state, best_epoch = acc, copy.deepcopy(model.state_dict()), epoch
    print(f"epoch {epoch} val {val_loss:.3f} acc {acc:.3f}")
model.load_state_dict(best_state)
print(f"best {best_acc:.3f} at epoch {best_epoch}")
