"""Screen compounds for activity from 60 descriptors; keeps the baseline score for the report."""
import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import make_classification
from sklearn.metrics import roc_auc_score
from torch.utils.data import DataLoader, TensorDataset


def get_data(seed):
    X, y = make_classification(n_samples=2600, n_features=60, n_informative=12, n_redundant=10, n_clusters_per_class=2,
                               class_sep=0.9, flip_y=0.08, random_state=seed)
    mu, sd = X[:1600].mean(0), X[:1600].std(0)
    X = torch.tensor((X - mu) / sd, dtype=torch.float32)
    y = torch.tensor(y, dtype=torch.float32)
    return TensorDataset(X[:1600], y[:1600]), TensorDataset(X[1600:], y[1600:])


class Screener(nn.Module):
    def __init__(self, n_in, width=128, p=0.5):
        super().__init__()
        layers = []
        for k in range(3):
            layers += [nn.Linear(n_in if k == 0 else width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(p)]
        self.body = nn.Sequential(*layers)
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(1)


def evaluate(model, loader, criterion):
    model.eval()
    losses, scores, truth = [], [], []
    with torch.no_grad():
        for x, y in loader:
            z = model(x)
            losses.append(criterion(z, y).item() * len(y))
            scores.append(z)
            truth.append(y)
    auc = roc_auc_score(torch.cat(truth).numpy(), torch.cat(scores).numpy())
    return sum(losses) / len(loader.dataset), auc


def train(model, train_loader, val_loader, epochs, lr):
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    model.train()
    history = [evaluate(model, val_loader, criterion)]
    print("before training: val loss %.4f auc %.4f" % history[0])
    for epoch in range(1, epochs + 1):
        running = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item() * len(y)
        scheduler.step()
        history.append(evaluate(model, val_loader, criterion))
        if epoch % 3 == 0:
            print("epoch %2d: train loss %.4f val loss %.4f auc %.4f" % (
                epoch, running / len(train_loader.dataset), *history[-1]))
    return history


if __name__ == "__main__":
    torch.manual_seed(33)
    np.random.seed(33)
    train_set, val_set = get_data(33)
    history = train(Screener(60), DataLoader(train_set, batch_size=64, shuffle=True, drop_last=True),
                    DataLoader(val_set, batch_size=500), epochs=30, lr=1e-3)
    print("best auc %.4f" % max(a for _, a in history))
