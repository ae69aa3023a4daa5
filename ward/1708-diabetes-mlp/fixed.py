import numpy as np
import torch
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


class Regressor(nn.Module):
    def __init__(self, n_features, sizes=(16,)):
        super().__init__()
        layers = []
        for size in sizes:
            layers += [nn.Linear(n_features, size), nn.ReLU()]
            n_features = size
        self.net = nn.Sequential(*layers, nn.Linear(n_features, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


def prepare(seed):
    X, y = load_diabetes(return_X_y=True)
    X_tr, X_te, y_tr, y_te = train_test_split(X, y, test_size=0.25, random_state=seed)
    sx = StandardScaler().fit(X_tr)
    mu, sd = y_tr.mean(), y_tr.std()
    to = lambda a: torch.tensor(a, dtype=torch.float32)
    train = TensorDataset(to(sx.transform(X_tr)), to((y_tr - mu) / sd))
    test = TensorDataset(to(sx.transform(X_te)), to((y_te - mu) / sd))
    return train, test, sd


def evaluate(model, data, criterion):
    model.eval()
    X, y = data.tensors
    with torch.no_grad():
        pred = model(X)
        mse = criterion(pred, y).item()
        r2 = 1 - ((pred - y) ** 2).sum().item() / ((y - y.mean()) ** 2).sum().item()
    return mse, r2


def fit(model, train, test, epochs, lr, weight_decay, report=5):
    loader = DataLoader(train, batch_size=32, shuffle=True)
    criterion = nn.MSELoss()
    optimizer = optim.Adam(model.parameters(), lr=lr, weight_decay=weight_decay)
    curve = []
    for epoch in range(1, epochs + 1):
        model.train()
        batch_losses = []
        for X, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(X), y)
            loss.backward()
            optimizer.step()
            batch_losses.append(loss.item())
        mse, r2 = evaluate(model, test, criterion)
        curve.append((np.mean(batch_losses), mse))
        if epoch % report == 0 or epoch == 1:
            print(f"Epoch {epoch:4d}: train MSE {curve[-1][0]:.4f}, test MSE {mse:.4f}, test R2 {r2:.3f}")
    return curve


if __name__ == "__main__":
    torch.manual_seed(8)
    np.random.seed(8)
    train, test, sd = prepare(seed=8)
    model = Regressor(10)
    print("parameters:", sum(p.numel() for p in model.parameters()))
    fit(model, train, test, epochs=40, lr=1e-3, weight_decay=1e-3)
    mse, r2 = evaluate(model, test, nn.MSELoss())
    print(f"final test RMSE in original units: {sd * mse ** 0.5:.1f}")
