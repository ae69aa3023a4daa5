"""Learn whether two handwritten digits show the same number."""
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

CONFIG = {
    "seed": 11,
    "embedding": 24,
    "hidden": 96,
    "batch_pairs": 64,
    "steps_per_epoch": 60,
    "epochs": 16,
    "learning_rate": 0.1,
    "momentum": 0.9,
}


class Encoder(nn.Module):
    def __init__(self, hidden, embedding):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(64, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, embedding))

    def forward(self, x):
        return self.layers(x)


class Siamese(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.encoder = Encoder(cfg["hidden"], cfg["embedding"])
        self.score = nn.Linear(cfg["embedding"], 1)

    def forward(self, a, b):
        return self.score((self.encoder(a) - self.encoder(b)).abs()).squeeze(-1)


class PairSampler:
    """Half of the pairs share a digit, the other half do not."""

    def __init__(self, X, y, seed):
        self.X, self.y = X, y
        self.members = [torch.nonzero(y == c).squeeze(1) for c in range(10)]
        self.gen = torch.Generator().manual_seed(seed)

    def pick(self, classes):
        u = torch.rand(len(classes), generator=self.gen)
        return torch.stack([self.members[c][int(v * len(self.members[c]))] for c, v in zip(classes.tolist(), u.tolist())])

    def draw(self, n):
        same = torch.rand(n, generator=self.gen) < 0.5
        first = torch.randint(10, (n,), generator=self.gen)
        shift = torch.randint(1, 10, (n,), generator=self.gen)
        second = torch.where(same, first, (first + shift) % 10)
        return self.X[self.pick(first)], self.X[self.pick(second)], same.float()


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg["seed"])
        digits = load_digits()
        data = torch.tensor(digits.data, dtype=torch.float32) / 16.0
        labels = torch.tensor(digits.target)
        tr, va = train_test_split(torch.arange(len(labels)), test_size=0.3, random_state=0, stratify=labels)
        self.train_pairs = PairSampler(data[tr], labels[tr], seed=1)
        self.val = PairSampler(data[va], labels[va], seed=2).draw(3000)
        self.model = Siamese(cfg)
        self.loss_fn = nn.BCEWithLogitsLoss()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=cfg["learning_rate"], momentum=cfg["momentum"],
                                         weight_decay=1e-3)

    def epoch(self):
        self.model.train()
        total = 0.0
        for _ in range(self.cfg["steps_per_epoch"]):
            a, b, same = self.train_pairs.draw(self.cfg["batch_pairs"])
            self.optimizer.zero_grad()
            loss = self.loss_fn(self.model(a, b), same)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / self.cfg["steps_per_epoch"]

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        a, b, same = self.val
        logit = self.model(a, b)
        return self.loss_fn(logit, same).item(), ((logit > 0) == (same > 0.5)).float().mean().item()

    def fit(self):
        for e in range(self.cfg["epochs"]):
            train_loss = self.epoch()
            val_loss, val_acc = self.validate()
            print(f"[{e + 1:02d}/{self.cfg['epochs']}] train={train_loss:.4f} val={val_loss:.4f} acc={val_acc:.3f}")


Trainer(CONFIG).fit()
