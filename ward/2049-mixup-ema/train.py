import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset

CFG = {"epochs": 16, "batch": 32, "micro": 16, "lr": 0.05, "mix": 0.2, "drop": 0.3, "ema": 0.98, "seed": 55}


class SmallNet(nn.Module):
    def __init__(self, drop):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.norm1, self.norm2 = nn.GroupNorm(4, 16), nn.GroupNorm(4, 32)
        self.drop = nn.Dropout(drop)
        self.fc = nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(x))), 2)
        x = F.max_pool2d(F.relu(self.norm2(self.conv2(x))), 2)
        return self.fc(self.drop(x.flatten(1)))


class Average:
    """Exponential moving average of the weights, used for evaluation."""

    def __init__(self, model, decay):
        self.model = copy.deepcopy(model).requires_grad_(False).eval()
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for a, p in zip(self.model.parameters(), model.parameters()):
            a.lerp_(p, 1 - self.decay)


def mixup(x, y, alpha):
    lam = torch.distributions.Beta(alpha, alpha).sample().item()
    other = torch.randperm(len(x))
    soft = F.one_hot(y, 10).float()
    return lam * x + (1 - lam) * x[other], lam * soft + (1 - lam) * soft[other]


def main(cfg):
    torch.manual_seed(cfg["seed"])
    d = load_digits()
    X, y = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16, torch.tensor(d.target)
    Xt, Xv, yt, yv = train_test_split(X, y, test_size=0.35, random_state=5, stratify=y)
    loader = DataLoader(TensorDataset(Xt, yt), batch_size=cfg["batch"], shuffle=True, drop_last=True)
    model = SmallNet(cfg["drop"])
    average = Average(model, cfg["ema"])
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=0.9, nesterov=True, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=cfg["lr"], total_steps=cfg["epochs"] * len(loader))
    parts = cfg["batch"] // cfg["micro"]
    for epoch in range(cfg["epochs"]):
        model.train()
        total = 0.0
        for xb, yb in loader:
            xb, soft = mixup(xb, yb, cfg["mix"])
            optimizer.zero_grad()
            for xm, sm in zip(xb.split(cfg["micro"]), soft.split(cfg["micro"])):
                loss = F.cross_entropy(model(xm), sm) / parts
                loss.backward()
                total += loss.item()
            optimizer.step()
            scheduler.step()
            average.update(model)
        with torch.no_grad():
            out = average.model(Xv)
        if epoch % 2 == 1:
            print(f"epoch {epoch + 1:2d}  train {total / len(loader):.4f}  val {F.cross_entropy(out, yv):.4f}  "
                  f"acc {(out.argmax(1) == yv).float().mean():.3f}")


main(CFG)
