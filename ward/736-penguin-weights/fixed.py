import torch
from sklearn.datasets import load_diabetes
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
X, y = load_diabetes(return_X_y=True)
X = torch.tensor(X, dtype=torch.float32) / 0.0476
y = torch.tensor((y - y.mean()) / y.std(), dtype=torch.float32).unsqueeze(1)
perm = torch.randperm(len(X))
X, y = X[perm], y[perm]
train_loader = DataLoader(TensorDataset(X[:352], y[:352]), batch_size=32, shuffle=True)
net = nn.Sequential(nn.Linear(10, 12), nn.ReLU(), nn.Linear(12, 1))
opt = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=1e-2)
batches = (batch for _ in range(100) for batch in train_loader)
for step in range(300):
    xb, yb = next(batches)
    opt.zero_grad()
    loss = nn.functional.mse_loss(net(xb), yb)
    loss.backward()
    opt.step()
    if step % 30 == 29:
        with torch.no_grad():
            val = nn.functional.mse_loss(net(X[352:]), y[352:])
        print(f"step {step + 1} train {loss.item():.4f} val {val.item():.4f}")
