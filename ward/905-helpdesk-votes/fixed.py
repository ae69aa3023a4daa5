"""Topic of a help desk ticket, labelled by volunteers."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

TOPICS, VOCAB, LENGTH = 5, 200, 16


def write_tickets(n, g):
    topic = torch.randint(TOPICS, (n,), generator=g)
    common = torch.randint(0, 100, (n, LENGTH), generator=g)
    special = 100 + topic[:, None] * 20 + torch.randint(0, 20, (n, LENGTH), generator=g)
    off = 100 + torch.randint(0, 100, (n, LENGTH), generator=g)
    u = torch.rand(n, LENGTH, generator=g)
    words = torch.where(u < 0.35, special, torch.where(u < 0.5, off, common))
    return words, topic


def collect_votes(topic, g, voters=9):
    other = torch.randint(TOPICS, (len(topic), voters), generator=g)
    other = torch.where(other == topic[:, None], (other + 1) % TOPICS, other)
    right = torch.rand(len(topic), voters, generator=g) < 0.72
    return torch.where(right, topic[:, None], other)


class Tickets(Dataset):
    def __init__(self, words, votes):
        self.words, self.votes = words, votes

    def __len__(self):
        return len(self.words)

    def __getitem__(self, i):
        return self.words[i], self.votes[i].mode().values


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.EmbeddingBag(VOCAB, 24, mode="mean")
        self.out = nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, TOPICS))

    def forward(self, words):
        return self.out(self.words(words) * 4)


g = torch.Generator().manual_seed(2)
torch.manual_seed(2)
words, topic = write_tickets(2000, g)
train = Tickets(words, collect_votes(topic, g))
val_words, val_topic = write_tickets(500, g)         # labelled by staff
loader = DataLoader(train, batch_size=40, shuffle=True)
reader = Reader()
opt = torch.optim.Adam(reader.parameters(), lr=3e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(8):
    reader.train()
    seen = right = total = 0
    for w, label in loader:
        out = reader(w)
        loss = loss_fn(out, label)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(w)
        right += (out.argmax(1) == label).sum().item()
        seen += len(w)
    reader.eval()
    with torch.no_grad():
        out = reader(val_words)
        vloss = loss_fn(out, val_topic).item()
        vacc = (out.argmax(1) == val_topic).float().mean().item()
    print(f"epoch {epoch}: loss {total / seen:.4f} acc {right / seen:.3f} val_loss {vloss:.4f} val_acc {vacc:.3f}")
