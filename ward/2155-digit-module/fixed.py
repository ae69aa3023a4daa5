import torch
from torch import nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Subset, TensorDataset, random_split


class DigitsModule:
    def __init__(self, batch_size=32):
        self.batch_size = batch_size
        d = load_digits()
        images = torch.tensor(d.images, dtype=torch.float32)[:, None] / 8 - 1
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(1))
        full = TensorDataset(images[order], torch.tensor(d.target)[order])
        self.test = Subset(full, range(1500, len(full)))
        self.pool = Subset(full, range(1500))
        self.setup()

    def setup(self):
        n_val = len(self.pool) // 5
        self.train, self.val = random_split(self.pool, [len(self.pool) - n_val, n_val])

    def train_dataloader(self):
        return DataLoader(self.train, self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.val, 256)

    def test_dataloader(self):
        return DataLoader(self.test, 256)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Dropout(0.3), nn.Linear(128, 10))

    def training_step(self, batch):
        x, y = batch
        return nn.functional.cross_entropy(self.body(x), y)

    @torch.no_grad()
    def score(self, loader):
        self.eval()
        loss = hits = n = 0
        for x, y in loader:
            out = self.body(x)
            loss += nn.functional.cross_entropy(out, y, reduction="sum").item()
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
        return loss / n, hits / n


class Trainer:
    def __init__(self, epochs):
        self.epochs = epochs

    def fit(self, model, dm):
        opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
        sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, self.epochs)
        for epoch in range(self.epochs):
            model.train()
            total, loader = 0.0, dm.train_dataloader()
            for batch in loader:
                loss = model.training_step(batch)
                opt.zero_grad()
                loss.backward()
                opt.step()
                total += loss.item()
            sched.step()
            vloss, vacc = model.score(dm.val_dataloader())
            print(f"[{epoch + 1:02d}/{self.epochs}] train_loss={total / len(loader):.4f} val_loss={vloss:.4f} val_acc={vacc:.4f}")


if __name__ == "__main__":
    torch.manual_seed(12)
    dm, model = DigitsModule(), Classifier()
    Trainer(epochs=18).fit(model, dm)
    print("test_loss=%.4f test_acc=%.4f" % model.score(dm.test_dataloader()))
