"""Tag the words of short reports; only words a reviewer has looked at count in the loss."""
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

TAGS = 5
VOCAB = 120
LENGTH = 16


class Reports(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.words = torch.randint(0, VOCAB, (n, LENGTH), generator=g)
        previous = torch.roll(self.words, 1, dims=1)
        previous[:, 0] = 0
        self.tags = (self.words % 7 + (previous % 3) * 2) % TAGS
        reviewed = torch.rand(n, LENGTH, generator=g) < 0.5
        reviewed[torch.rand(n, generator=g) < 0.12] = False
        self.reviewed = reviewed.float()

    def __len__(self):
        return len(self.words)

    def __getitem__(self, i):
        return self.words[i], self.tags[i], self.reviewed[i]


class Tagger(nn.Module):
    def __init__(self, dim=32, hidden=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, TAGS)

    def forward(self, words):
        h, _ = self.lstm(self.embed(words))
        return self.out(h)


def masked_loss(logits, tags, reviewed):
    ce = F.cross_entropy(logits.transpose(1, 2), tags, reduction="none")
    per_report = (ce * reviewed).sum(1) / reviewed.sum(1)
    return per_report.mean()


class Trainer:
    def __init__(self, model, train_loader, val_loader, lr=3e-3):
        self.model, self.train_loader, self.val_loader = model, train_loader, val_loader
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def train_epoch(self):
        self.model.train()
        total, count = 0.0, 0
        for words, tags, reviewed in self.train_loader:
            loss = masked_loss(self.model(words), tags, reviewed)
            if not torch.isfinite(loss):
                continue
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            self.optimizer.step()
            total += loss.item()
            count += 1
        return total / max(count, 1)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        loss = hits = words_seen = 0.0
        for words, tags, reviewed in self.val_loader:
            logits = self.model(words)
            ce = F.cross_entropy(logits.transpose(1, 2), tags, reduction="none")
            loss += (ce * reviewed).sum().item()
            hits += ((logits.argmax(2) == tags) * reviewed).sum().item()
            words_seen += reviewed.sum().item()
        return loss / words_seen, hits / words_seen

    def run(self, epochs):
        for epoch in range(epochs):
            train = self.train_epoch()
            val, acc = self.evaluate()
            print(f"epoch {epoch + 1:2d}: train {train:.4f} val {val:.4f} word accuracy {acc:.4f}")


if __name__ == "__main__":
    torch.manual_seed(19)
    trainer = Trainer(Tagger(), DataLoader(Reports(3000, 1), batch_size=24, shuffle=True),
                      DataLoader(Reports(800, 2), batch_size=200))
    trainer.run(9)
