"""Priority of a support ticket from the messages in its thread (attention pooling)."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Threads(Dataset):
    def __init__(self, n, seed):
        self.g = torch.Generator().manual_seed(seed)
        self.rows = [self._thread() for _ in range(n)]

    def _thread(self):
        g = self.g
        k = int(torch.randint(1, 9, (1,), generator=g))
        if torch.rand(1, generator=g) < 0.003:
            k = 0                                           # opened by phone, nothing written yet
        messages = torch.randn(k, 10, generator=g)
        if k == 0:
            return messages, 0
        urgent = (messages[:, 0] + messages[:, 1]).max().item()
        return messages, int(urgent > 0.6) + int(urgent > 1.8)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def pad_threads(batch):
    longest = max(len(m) for m, _ in batch)
    x = torch.zeros(len(batch), longest, 10)
    there = torch.zeros(len(batch), longest, dtype=torch.bool)
    for i, (m, _) in enumerate(batch):
        x[i, :len(m)] = m
        there[i, :len(m)] = True
    return x, there, torch.tensor([y for _, y in batch])


class ThreadNet(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(10, d), nn.GELU(), nn.Linear(d, d))
        self.score = nn.Linear(d, 4)
        self.head = nn.Sequential(nn.Linear(4 * d, d), nn.GELU(), nn.Linear(d, 3))

    def forward(self, x, there):
        h = self.message(x)
        s = self.score(h).masked_fill(~there.unsqueeze(-1), float("-inf"))
        a = torch.softmax(s, dim=1)
        pooled = torch.einsum("nth,ntd->nhd", a, h).flatten(1)
        return self.head(pooled)


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.opt = torch.optim.AdamW(model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()

    def epoch(self, loader):
        self.model.train()
        running = 0.0
        for x, there, y in loader:
            loss = self.criterion(self.model(x, there), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            running += loss.item() / len(loader)
        return running

    @torch.no_grad()
    def accuracy(self, loader):
        self.model.eval()
        hits = [(self.model(x, t).argmax(1) == y).float() for x, t, y in loader]
        return torch.cat(hits).mean().item()


torch.manual_seed(13)
train = DataLoader(Threads(2000, 3), batch_size=40, shuffle=True, collate_fn=pad_threads)
test = DataLoader(Threads(400, 4), batch_size=100, collate_fn=pad_threads)
trainer = Trainer(ThreadNet(), lr=3e-3)
for e in range(6):
    print(f"epoch {e} loss {trainer.epoch(train):.4f} accuracy {trainer.accuracy(test):.3f}")
