import json
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

CFG = json.loads("""{
  "seed": 6, "train": 3000, "valid": 800, "size": 24, "shapes": 6,
  "batch": 32, "epochs": 12, "lr": 0.002, "threshold": 0.5
}""")
torch.manual_seed(CFG["seed"])


def stencil(kind, s=7):
    a = np.zeros((s, s), np.float32)
    i = np.arange(s)
    if kind == 0: a[[0, -1]] = 1; a[:, [0, -1]] = 1                      # frame
    if kind == 1: a[s // 2] = 1; a[:, s // 2] = 1                        # plus
    if kind == 2: a[i, i] = 1; a[i, s - 1 - i] = 1                       # cross
    if kind == 3: a[::2] = 1                                             # stripes
    if kind == 4: a[np.add.outer((i - 3) ** 2, (i - 3) ** 2) <= 10] = 1  # disc
    if kind == 5: a[np.tril_indices(s)] = 1                              # wedge
    return a


class Shelf(Dataset):
    """Pictures with zero to four different products on them; the label says which."""

    def __init__(self, n, seed):
        r = np.random.default_rng(seed)
        size, k = CFG["size"], CFG["shapes"]
        self.x = r.normal(0, 0.2, (n, 1, size, size)).astype(np.float32)
        self.y = np.zeros((n, k), np.float32)
        cells = [(1, 1), (1, 15), (15, 1), (15, 15)]
        for j in range(n):
            present = r.permutation(k)[:r.integers(0, 5)]
            for kind, cell in zip(present, r.permutation(4)):
                cy, cx = np.array(cells[cell]) + r.integers(-1, 3, 2)
                self.x[j, 0, cy:cy + 7, cx:cx + 7] += stencil(kind) * r.uniform(0.8, 1.2)
            self.y[j, present] = 1
        self.x = (self.x - 0.2) / 0.45

    def __len__(self):
        return len(self.x)

    def __getitem__(self, j):
        return torch.from_numpy(self.x[j]), torch.from_numpy(self.y[j])


def build_model(k):
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 5, padding=2), nn.ReLU(), nn.AdaptiveMaxPool2d(2),
        nn.Flatten(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, k))


def score(logits, y):
    p = (torch.sigmoid(logits) > CFG["threshold"]).float()
    tp, fp, fn = (p * y).sum(), (p * (1 - y)).sum(), ((1 - p) * y).sum()
    return {"f1": round((2 * tp / (2 * tp + fp + fn)).item(), 4), "exact": round((p == y).all(1).float().mean().item(), 4)}


def main():
    train_dl = DataLoader(Shelf(CFG["train"], 1), CFG["batch"], shuffle=True)
    valid_dl = DataLoader(Shelf(CFG["valid"], 2), 200)
    model = build_model(CFG["shapes"])
    criterion = nn.BCEWithLogitsLoss()
    optim = torch.optim.Adam(model.parameters(), lr=CFG["lr"])
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(optim, CFG["epochs"])
    for epoch in range(CFG["epochs"]):
        model.train()
        train_loss = []
        for x, y in train_dl:
            optim.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optim.step()
            train_loss.append(loss.item())
        sched.step()
        model.eval()
        with torch.no_grad():
            out, ys = zip(*[(model(x), y) for x, y in valid_dl])
            out, ys = torch.cat(out), torch.cat(ys)
        print(json.dumps({"epoch": epoch, "loss": round(float(np.mean(train_loss)), 4), "val_loss": round(criterion(out, ys).item(), 4), **score(out, ys)}))


if __name__ == "__main__":
    main()
