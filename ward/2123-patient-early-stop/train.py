import copy

import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class EarlyStopping:
    def __init__(self, patience, min_delta=0.0):
        self.patience, self.min_delta = patience, min_delta
        self.best, self.bad, self.state = np.inf, 0, None

    def update(self, value, model):
        if value < self.best - self.min_delta:
            self.best, self.bad, self.state = value, 0, copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad >= self.patience


def get_data():
    X, y = make_classification(n_samples=10000, n_features=20, n_informative=10, n_redundant=2, n_classes=3,
                               n_clusters_per_class=2, class_sep=1.2, flip_y=0.05, random_state=4)
    X = X.astype(np.float32)
    X_tr, X_rest, y_tr, y_rest = train_test_split(X, y, train_size=8000, stratify=y, random_state=4)
    X_va, X_te, y_va, y_te = train_test_split(X_rest, y_rest, test_size=0.5, stratify=y_rest, random_state=4)
    mean, std = X_tr.mean(0), X_tr.std(0)
    return [TensorDataset(torch.from_numpy((a - mean) / std), torch.from_numpy(b))
            for a, b in ((X_tr, y_tr), (X_va, y_va), (X_te, y_te))]


@torch.no_grad()
def score(model, ds):
    model.eval()
    out = model(ds.tensors[0])
    return nn.functional.cross_entropy(out, ds.tensors[1]).item(), (out.argmax(1) == ds.tensors[1]).float().mean().item()


def main(max_epochs=200, patience=6):
    torch.manual_seed(4)
    train_ds, val_ds, test_ds = get_data()
    loader = DataLoader(train_ds, batch_size=128, shuffle=True)
    model = nn.Sequential(nn.Linear(20, 32), nn.LayerNorm(32), nn.ReLU(), nn.Dropout(0.3),
                          nn.Linear(32, 32), nn.LayerNorm(32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.02)
    stopper = EarlyStopping(patience)
    for epoch in range(max_epochs):
        model.train()
        for xb, yb in loader:
            loss = nn.functional.cross_entropy(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        tr, (vl, va) = score(model, train_ds)[0], score(model, val_ds)
        print(f"epoch {epoch:3d} train {tr:.4f} val {vl:.4f} acc {va:.3f}")
        if stopper.update(vl, model):
            print(f"no better for {patience} epochs, stopping")
            break
    model.load_state_dict(stopper.state)
    print("test loss {:.4f} accuracy {:.3f}".format(*score(model, test_ds)))


if __name__ == "__main__":
    main()
