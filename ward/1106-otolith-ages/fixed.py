"""Fish age from otolith profiles by label distribution learning (soft labels around the true age)."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

MAX_AGE = 20


class Otoliths(Dataset):
    """Radial brightness profile; every winter leaves a dark ring, rings get narrower with age."""

    def __init__(self, n, seed, sigma=1.0):
        g = torch.Generator().manual_seed(seed)
        self.age = torch.randint(1, MAX_AGE, (n,), generator=g)
        radius = torch.linspace(0, 1, 96)
        profile = []
        for a in self.age:
            growth = 0.16 + 0.03 * torch.randn(1, generator=g).clamp(-1, 1)
            rings = 1.05 * (1 - torch.exp(-growth * torch.arange(1, int(a) + 1)))
            p = torch.exp(-((radius[:, None] - rings[None]) / 0.012) ** 2).sum(1)
            profile.append(p - p.mean() + 0.1 * torch.randn(96, generator=g))
        self.x = torch.stack(profile).unsqueeze(1)
        bins = torch.arange(MAX_AGE + 1).float()
        d = torch.exp(-0.5 * ((bins[None] - self.age[:, None]) / sigma) ** 2)
        self.dist = d / d.sum(1, keepdim=True)

    def __len__(self):
        return len(self.age)

    def __getitem__(self, i):
        return {"profile": self.x[i], "dist": self.dist[i], "age": self.age[i]}


class AgeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 16, 7, padding=3), nn.BatchNorm1d(16), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(16, 32, 5, padding=2), nn.BatchNorm1d(32), nn.ReLU(), nn.MaxPool1d(2),
            nn.Flatten(), nn.Linear(32 * 24, 64), nn.ReLU())
        self.scores = nn.Linear(64, MAX_AGE + 1)

    def forward(self, x):
        return self.scores(self.features(x))


class LDLTrainer:
    def __init__(self, model, lr=1e-3):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)
        self.bins = torch.arange(MAX_AGE + 1).float()

    def loss(self, batch):
        scores = self.model(batch["profile"])
        return F.kl_div(F.log_softmax(scores, dim=1), batch["dist"], reduction="batchmean")

    def fit_epoch(self, loader):
        self.model.train()
        total = 0.0
        for batch in loader:
            self.opt.zero_grad()
            loss = self.loss(batch)
            loss.backward()
            self.opt.step()
            total += loss.item()
        return total / len(loader)

    @torch.no_grad()
    def score(self, loader):
        self.model.eval()
        kl, err, n = 0.0, 0.0, 0
        for batch in loader:
            kl += self.loss(batch).item() * len(batch["age"])
            expected = (self.model(batch["profile"]).softmax(1) * self.bins).sum(1)
            err += (expected - batch["age"]).abs().sum().item()
            n += len(batch["age"])
        return kl / n, err / n


torch.manual_seed(7)
train_loader = DataLoader(Otoliths(1500, 1), batch_size=50, shuffle=True)
val_loader = DataLoader(Otoliths(400, 2), batch_size=200)
trainer = LDLTrainer(AgeNet())
for epoch in range(6):
    tr = trainer.fit_epoch(train_loader)
    va, mae = trainer.score(val_loader)
    print(f"epoch {epoch + 1}  KL train {tr:.4f}  KL val {va:.4f}  MAE {mae:.2f} years")
