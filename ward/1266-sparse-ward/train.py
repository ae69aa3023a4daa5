"""Tumour or not, with heavy dropout because the clinic wants a smooth, careful model."""
import torch
import torch.nn as nn
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset


def loaders(seed):
    x, y = load_breast_cancer(return_X_y=True)
    x_tr, x_te, y_tr, y_te = train_test_split(x, y, test_size=0.3, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(x_tr)
    as_set = lambda a, b: TensorDataset(torch.tensor(scaler.transform(a), dtype=torch.float32), torch.tensor(b, dtype=torch.float32))
    return DataLoader(as_set(x_tr, y_tr), batch_size=16, shuffle=True), DataLoader(as_set(x_te, y_te), batch_size=256)


class CarefulNet(nn.Module):
    def __init__(self, width=128, p=0.75):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(30, width), nn.ReLU(), nn.Dropout(p),
            nn.Linear(width, width), nn.ReLU(), nn.Dropout(p))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(1)


class Fit:
    def __init__(self, model, lr):
        self.model = model
        self.criterion = nn.BCEWithLogitsLoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)

    def epoch(self, loader):
        self.model.train()
        total = 0.0
        for x, y in loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(y)
        return total / len(loader.dataset)

    @torch.no_grad()
    def test(self, loader):
        self.model.eval()
        x, y = next(iter(loader))
        out = self.model(x)
        return self.criterion(out, y).item(), ((out > 0) == (y > 0.5)).float().mean().item()


torch.manual_seed(91)
train, test = loaders(5)
fit = Fit(CarefulNet(), lr=3e-3)
for epoch in range(1, 17):
    loss = fit.epoch(train)
    test_loss, acc = fit.test(test)
    print(f"epoch {epoch:2d}: train loss {loss:.4f}, test loss {test_loss:.4f}, test acc {acc:.3f}")
