"""Fault classes of a compressor (normal / leak / surge). The rare classes are repeated in the training part."""
import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, Dataset

CLASSES = ["normal", "leak", "surge"]


class Repeated(Dataset):
    """rows plus a list of row numbers in which rare rows appear several times"""

    def __init__(self, x, y, balance=False, seed=0):
        self.x, self.y = torch.as_tensor(x, dtype=torch.float32), torch.as_tensor(y)
        self.rows = np.arange(len(y))
        if balance:
            rng = np.random.default_rng(seed)
            most = np.bincount(y).max()
            extra = [rng.choice(np.flatnonzero(y == c), most - n) for c, n in enumerate(np.bincount(y))]
            self.rows = np.concatenate([self.rows, *extra])

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        r = self.rows[i]
        return self.x[r], self.y[r]


class FaultTrainer:
    def __init__(self, n_features, lr=2e-3, decay=1e-2):
        self.model = nn.Sequential(nn.Linear(n_features, 24), nn.ReLU(), nn.Dropout(0.2), nn.Linear(24, len(CLASSES)))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr, weight_decay=decay)
        self.loss = nn.CrossEntropyLoss()

    def train_epoch(self, loader):
        self.model.train()
        total = 0.0
        for x, y in loader:
            self.optimizer.zero_grad()
            loss = self.loss(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            total += loss.item() * len(y)
        return total / len(loader.dataset)

    @torch.no_grad()
    def validate(self, loader):
        self.model.eval()
        outs, ys = zip(*((self.model(x), y) for x, y in loader))
        out, y = torch.cat(outs), torch.cat(ys)
        pred = out.argmax(1)
        return self.loss(out, y).item(), [(pred[y == c] == c).float().mean().item() for c in range(len(CLASSES))]


def main():
    torch.manual_seed(33)
    x, y = make_classification(4000, n_features=14, n_informative=8, n_redundant=2, n_classes=3, n_clusters_per_class=1,
                               weights=[0.82, 0.11, 0.07], class_sep=1.7, flip_y=0.01, random_state=33)
    x_tr, x_va, y_tr, y_va = train_test_split(x, y, test_size=0.3, stratify=y, random_state=1)
    scaler = StandardScaler().fit(x_tr)
    train = DataLoader(Repeated(scaler.transform(x_tr), y_tr, balance=True), batch_size=96, shuffle=True)
    val = DataLoader(Repeated(scaler.transform(x_va), y_va), batch_size=300)
    print("train rows", dict(zip(CLASSES, np.bincount(y_tr).tolist())), "-> after repeating", len(train.dataset))
    trainer = FaultTrainer(x.shape[1])
    for epoch in range(1, 7):
        tl = trainer.train_epoch(train)
        vl, recalls = trainer.validate(val)
        print(f"epoch {epoch}: train {tl:.4f} val {vl:.4f} | " + "  ".join(f"{c} {r:.3f}" for c, r in zip(CLASSES, recalls)))


main()
