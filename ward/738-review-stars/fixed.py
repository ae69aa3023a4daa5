import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

WORDS = 300


class Reviews(Dataset):
    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        self.bags = torch.poisson(torch.full((count, WORDS), 0.15), generator=g)
        taste = torch.randn(WORDS, generator=torch.Generator().manual_seed(99))
        score = self.bags @ taste + torch.randn(count, generator=g)
        self.stars = torch.bucketize(score, torch.tensor([-6.0, -2.0, 2.0, 6.0]))

    def __len__(self):
        return len(self.stars)

    def __getitem__(self, i):
        return self.bags[i], self.stars[i]


class Trainer:
    def __init__(self):
        self.loader = DataLoader(Reviews(2000, 1), batch_size=50, shuffle=True)
        self.source = iter(self.loader)
        self.check = DataLoader(Reviews(500, 2), batch_size=250)
        self.model = nn.Sequential(nn.Linear(WORDS, 32), nn.ReLU(), nn.Linear(32, 5))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)

    def batch(self):
        batch = next(self.source, None)
        if batch is None:
            self.source = iter(self.loader)
            batch = next(self.source)
        return batch

    def step(self):
        x, y = self.batch()
        loss = nn.functional.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        total = sum(nn.functional.cross_entropy(self.model(x), y).item() for x, y in self.check) / len(self.check)
        self.model.train()
        return total


torch.manual_seed(0)
trainer = Trainer()
for i in range(240):
    loss = trainer.step()
    if i % 30 == 29:
        print(f"{i + 1}: loss {loss:.4f} check {trainer.validate():.4f}")
