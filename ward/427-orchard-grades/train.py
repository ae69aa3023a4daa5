import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(13)
DTYPE = torch.float16

X, y = load_digits(return_X_y=True)
X_train, X_val, y_train, y_val = train_test_split(X / 16.0, y, test_size=400, random_state=1, stratify=y)
X_train, X_val = torch.tensor(X_train, dtype=DTYPE), torch.tensor(X_val, dtype=DTYPE)
y_train, y_val = torch.tensor(y_train), torch.tensor(y_val)

model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 10)).to(DTYPE)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def batches(size):
    for rows in torch.randperm(len(X_train)).split(size):
        yield X_train[rows], y_train[rows]


for epoch in range(1, 11):
    model.train()
    losses = []
    for xb, yb in batches(50):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb).float(), yb)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        out = model(X_val).float()
        acc = (out.argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch:2d}: loss {sum(losses) / len(losses):.4f}, val loss {F.cross_entropy(out, y_val).item():.4f}, val acc {acc:.3f}")
