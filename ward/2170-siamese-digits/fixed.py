"""Do these two pictures show the same digit?"""
import torch
from torch import nn
from sklearn.datasets import load_digits


class PairSampler:
    def __init__(self, x, y, seed):
        self.x, self.y = x, y
        self.g = torch.Generator().manual_seed(seed)
        self.rows = [torch.nonzero(y == c)[:, 0] for c in range(10)]

    def sample(self, n):
        left = torch.randint(len(self.y), (n,), generator=self.g)
        right = torch.randint(len(self.y), (n,), generator=self.g)
        same = torch.rand(n, generator=self.g) < 0.5
        for i in torch.nonzero(same)[:, 0].tolist():
            rows = self.rows[self.y[left[i]]]
            right[i] = rows[torch.randint(len(rows), (1,), generator=self.g)]
        return self.x[left], self.x[right], (self.y[left] == self.y[right]).float()


class Siamese(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Dropout(0.3), nn.Linear(128, dim))
        self.compare = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def embed(self, x):
        z = self.encoder(x)
        return z / z.norm(dim=1, keepdim=True).clamp(min=1e-6)

    def forward(self, a, b):
        return self.compare((self.embed(a) - self.embed(b)).abs() * 4).squeeze(1)

    def gallery(self, x, y):
        """Mean embedding per class, for look-up."""
        with torch.no_grad():
            z = self.embed(x)
        return torch.stack([z[y == c].mean(0) for c in range(10)])


def main():
    torch.manual_seed(22)
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32)[:, None] / 8 - 1
    y = torch.tensor(d.target)
    order = torch.randperm(len(y))
    tr, va = order[:1300], order[1300:]
    train, valid = PairSampler(x[tr], y[tr], 1), PairSampler(x[va], y[va], 2).sample(2000)

    model = Siamese()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 800)
    bce = nn.BCEWithLogitsLoss()
    total = 0.0
    for step in range(1, 801):
        model.train()
        a, b, same = train.sample(64)
        loss = bce(model(a, b), same)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item()
        if step % 100 == 0:
            model.eval()
            with torch.no_grad():
                out = model(valid[0], valid[1])
            centres = model.gallery(x[tr], y[tr])
            with torch.no_grad():
                found = (model.embed(x[va]) @ centres.T).argmax(1)
            print("step %4d  loss %.4f  val loss %.4f  pair acc %.3f  look-up acc %.3f" % (
                step, total / 100, bce(out, valid[2]), ((out > 0) == (valid[2] > 0)).float().mean(), (found == y[va]).float().mean()))
            total = 0.0


main()
