"""Predict pump failures within the next day from hourly sensor summaries."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def sensor_hours(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 10))
    risk = 1.3 * x[:, 0] + 1.1 * np.maximum(x[:, 1], 0) - 0.9 * x[:, 2] + 0.8 * x[:, 3] * (x[:, 4] > 0)
    fails = rng.random(n) < 0.002 + 0.36 / (1 + np.exp(-3.0 * (risk - 3.0)))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(fails, dtype=torch.float32)


class PumpNet(nn.Module):
    def __init__(self, n_in=10, hidden=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, hidden), nn.ReLU(),
                                 nn.Linear(hidden, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class Fitter:
    def __init__(self, model, train, valid, lr=1e-3, epochs=12):
        self.model = model
        self.train_loader = DataLoader(TensorDataset(*train), batch_size=64, shuffle=True)
        self.valid = valid
        self.criterion = nn.BCEWithLogitsLoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=1e-4)
        self.epochs = epochs
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=epochs)

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def check(self):
        self.model.eval()
        x, y = self.valid
        with torch.no_grad():
            out = self.model(x)
        alarm = (out > 0).float()
        return self.criterion(out, y).item(), (alarm == y).float().mean().item()

    def fit(self):
        for epoch in range(1, self.epochs + 1):
            self.model.train()
            losses = [self.step(x, y) for x, y in self.train_loader]
            self.scheduler.step()
            vloss, acc = self.check()
            print(f"epoch {epoch:2d}  train {sum(losses) / len(losses):.4f}  valid {vloss:.4f}  accuracy {acc:.2%}")


if __name__ == "__main__":
    torch.manual_seed(19)
    train, valid = sensor_hours(12000, 1), sensor_hours(4000, 2)
    fitter = Fitter(PumpNet(), train, valid)
    fitter.fit()
    print("done, final accuracy %.2f%%" % (100 * fitter.check()[1]))
