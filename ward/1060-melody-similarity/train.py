"""Two-tower model: how similar do listeners find two melodies (score between -1 and 1)?"""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class MelodyPairs(Dataset):
    def __init__(self, n, seed, dim=24):
        g = torch.Generator().manual_seed(seed)
        ear = torch.randn(dim, 5, generator=torch.Generator().manual_seed(1000)) / dim ** 0.5
        self.left = torch.randn(n, dim, generator=g)
        mix = torch.rand(n, 1, generator=g) * 2 - 1
        self.right = mix * self.left + (1 - mix ** 2).sqrt() * torch.randn(n, dim, generator=g)
        score = F.cosine_similarity(self.left @ ear, self.right @ ear)
        self.score = (score + 0.05 * torch.randn(n, generator=g)).clamp(-1, 1)

    def __len__(self):
        return len(self.score)

    def __getitem__(self, i):
        return {"left": self.left[i], "right": self.right[i], "score": self.score[i:i + 1]}


class Tower(nn.Module):
    def __init__(self, dim=24, hidden=64, code=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, code))

    def forward(self, melody):
        return self.net(melody)


class Similarity(nn.Module):
    def __init__(self):
        super().__init__()
        self.tower = Tower()

    def forward(self, batch):
        return F.cosine_similarity(self.tower(batch["left"]), self.tower(batch["right"]))


class SquaredError(nn.Module):
    def forward(self, predicted, wanted):
        return ((predicted - wanted) ** 2).mean()


class Trainer:
    def __init__(self, model, train, val, lr=3e-3):
        self.model, self.train, self.val = model, train, val
        self.criterion = SquaredError()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def fit(self, epochs):
        for epoch in range(1, epochs + 1):
            self.model.train()
            total = 0.0
            for batch in self.train:
                predicted = self.model(batch)
                loss = self.criterion(predicted, batch["score"])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item()
            print(f"epoch {epoch:2d} loss {total / len(self.train):.4f} val correlation {self.correlation():.3f}")

    @torch.no_grad()
    def correlation(self):
        self.model.eval()
        p, s = zip(*((self.model(b), b["score"].flatten()) for b in self.val))
        return torch.corrcoef(torch.stack([torch.cat(p), torch.cat(s)]))[0, 1].item()


if __name__ == "__main__":
    torch.manual_seed(25)
    train = DataLoader(MelodyPairs(2000, seed=1), batch_size=64, shuffle=True)
    val = DataLoader(MelodyPairs(500, seed=2), batch_size=250)
    Trainer(Similarity(), train, val).fit(epochs=9)
