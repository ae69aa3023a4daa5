import torch
import torch.nn as nn
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)

data = load_diabetes()
X_train, X_test, y_train, y_test = train_test_split(data.data, data.target[:, None], test_size=0.25, random_state=2)
sx, sy = StandardScaler().fit(X_train), StandardScaler().fit(y_train)


def tensors(X, y):
    return torch.tensor(sx.transform(X), dtype=torch.float32), torch.tensor(sy.transform(y), dtype=torch.float32)


X_train, y_train = tensors(X_train, y_train)
X_test, y_test = tensors(X_test, y_test)
loader = DataLoader(TensorDataset(X_train, y_train), batch_size=32, shuffle=True)


class Regressor(nn.Module):
    def __init__(self, n_in, width):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, width), nn.ReLU(),
            nn.Linear(width, width), nn.ReLU(),
            nn.Linear(width, 1),
        )

    def forward(self, x):
        return self.net(x)


model = Regressor(X_train.shape[1], width=256)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()

for epoch in range(1, 201):
    model.train()
    total = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        test_loss = criterion(model(X_test), y_test).item()
    if epoch % 10 == 0 or epoch <= 3:
        print(f"epoch {epoch:3d}: train mse {total / len(X_train):.4f}, test mse {test_loss:.4f}, R2 {1 - test_loss / y_test.var(correction=0).item():.3f}")
