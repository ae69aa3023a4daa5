import torch
import torch.nn.functional as F
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from torch import nn

torch.manual_seed(7)
data = load_breast_cancer()
X = torch.tensor(StandardScaler().fit_transform(data.data), dtype=torch.float32)
y = torch.tensor(data.target, dtype=torch.float32)
order = torch.randperm(len(X))
train_idx, val_idx = order[:400], order[400:]


class TumourNet(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.fc1 = nn.Linear(30, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.dropout(x, 0.6)
        x = F.relu(self.fc2(x))
        x = F.dropout(x, 0.6)
        return self.out(x).squeeze(1)


net = TumourNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)

for epoch in range(24):
    net.train()
    for rows in train_idx[torch.randperm(len(train_idx))].split(32):
        opt.zero_grad()
        loss = F.binary_cross_entropy_with_logits(net(X[rows]), y[rows])
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        logits = net(X[val_idx])
        again = net(X[val_idx])
        val = F.binary_cross_entropy_with_logits(logits, y[val_idx])
        acc = ((logits > 0) == (y[val_idx] > 0.5)).float().mean()
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1:2d} val {val.item():.4f} acc {acc.item():.3f} two calls differ by {(logits - again).abs().mean().item():.3f}")
