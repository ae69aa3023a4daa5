import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(21)


class DigitSorter(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(64, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
        )
        self.head = nn.Linear(width, 10)
        self.apply(self._init_weights)

    def _init_weights(self, m):
        if isinstance(m, nn.Linear):
            nn.init.kaiming_normal_(m.weight)
            nn.init.zeros_(m.bias)

    def forward(self, x):
        return self.head(self.body(x))


X, y = load_digits(return_X_y=True)
X = (X - X.mean()) / X.std()
X_tr, X_va, y_tr, y_va = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
X_tr, X_va = torch.tensor(X_tr, dtype=torch.float32), torch.tensor(X_va, dtype=torch.float32)
y_tr, y_va = torch.tensor(y_tr), torch.tensor(y_va)
loader = DataLoader(TensorDataset(X_tr, y_tr), batch_size=64, shuffle=True)

net = DigitSorter()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=5e-4)

for epoch in range(1, 11):
    net.train()
    running = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(net(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item() * len(yb)
    net.eval()
    with torch.no_grad():
        out = net(X_va)
        val, acc = criterion(out, y_va).item(), (out.argmax(1) == y_va).float().mean().item()
    print(f"epoch {epoch:2d}  train {running / len(y_tr):.4f}  val {val:.4f}  acc {acc:.3f}")
