"""Gut flora and diet: gene-abundance vectors -> one of four diets. DataModule / Module / fit, without Lightning."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

N, GENES, DIETS = 700, 120, 4


def make_cohort(n, g, signal):
    diet = torch.randint(DIETS, (n,), generator=g)
    x = signal[diet] + torch.randn(n, GENES, generator=g)
    return x, diet


class GutData:
    def __init__(self, batch_size=28, seed=4):
        g = torch.Generator().manual_seed(seed)
        signal = torch.zeros(DIETS, GENES)
        signal[:, :24] = 0.42 * torch.randn(DIETS, 24, generator=g)
        self.cohort = TensorDataset(*make_cohort(N, g, signal))
        self.hospital = TensorDataset(*make_cohort(1000, g, signal))        # arrived later, only for the report
        self.batch_size = batch_size

    def split(self):
        return random_split(self.cohort, [0.8, 0.2], generator=torch.Generator().manual_seed(42))

    def train_dataloader(self):
        train, _ = self.split()
        return DataLoader(train, batch_size=self.batch_size, shuffle=True)

    def val_dataloader(self):
        _, val = self.split()
        return DataLoader(val, batch_size=70)

    def test_dataloader(self):
        return DataLoader(self.hospital, batch_size=250)


class DietNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(GENES, 96), nn.ReLU(), nn.Dropout(0.2), nn.Linear(96, DIETS))

    def forward(self, x):
        return self.body(x)

    def training_step(self, batch):
        x, y = batch
        return F.cross_entropy(self(x), y)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=8e-4, weight_decay=1e-2)


@torch.no_grad()
def score(module, loader):
    module.eval()
    loss = hits = n = 0
    for x, y in loader:
        out = module(x)
        loss += F.cross_entropy(out, y, reduction="sum").item()
        hits += (out.argmax(1) == y).sum().item()
        n += len(y)
    return loss / n, hits / n


def fit(module, data, max_epochs):
    optimizer = module.configure_optimizers()
    train_loader, val_loader = data.train_dataloader(), data.val_dataloader()
    for epoch in range(max_epochs):
        module.train()
        total = 0.0
        for batch in train_loader:
            loss = module.training_step(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        val_loss, val_acc = score(module, val_loader)
        print(f"epoch {epoch:2d} train_loss {total / len(train_loader):.3f} val_loss {val_loss:.3f} val_acc {val_acc:.3f}")
    print("new hospital: loss %.3f acc %.3f" % score(module, data.test_dataloader()))


torch.manual_seed(12)
fit(DietNet(), GutData(), max_epochs=8)
