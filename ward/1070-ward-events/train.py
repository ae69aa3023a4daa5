"""Risk class of a hospital stay from its list of events (different lengths; additive -inf masks for the padding)."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

KINDS, MAX_EVENTS = 20, 14


class Stays(Dataset):
    """A stay is at risk when an alarm event (1, 2) is followed by no doctor event (3, 4) later on."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.stays = []
        while len(self.stays) < n:
            length = int(torch.randint(3, MAX_EVENTS + 1, (1,), generator=g))
            kinds = torch.randint(5, KINDS, (length,), generator=g)
            for code in (1, 2, 3, 4):
                if torch.rand(1, generator=g) < 0.45:
                    kinds[int(torch.randint(0, length, (1,), generator=g))] = code
            alarm = ((kinds == 1) | (kinds == 2)).nonzero().flatten()
            doctor = ((kinds == 3) | (kinds == 4)).nonzero().flatten()
            if len(alarm) == 0:
                label = 0
            elif len(doctor) and doctor.max() > alarm.max():
                label = 1
            else:
                label = 2
            self.stays.append((kinds, label))

    def __len__(self):
        return len(self.stays)

    def __getitem__(self, i):
        return self.stays[i]


def collate(rows):
    lengths = torch.tensor([len(k) for k, _ in rows])
    kinds = nn.utils.rnn.pad_sequence([k for k, _ in rows], batch_first=True)
    pad = torch.arange(kinds.shape[1])[None] >= lengths[:, None]
    return kinds, pad, torch.tensor([label for _, label in rows])


class EventAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads, self.scale = heads, (dim // heads) ** -0.5
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x, bias):
        n, t, d = x.shape
        q, k, v = self.qkv(x).view(n, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) * self.scale + bias
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).reshape(n, t, d))


class StayModel(nn.Module):
    def __init__(self, dim=32, heads=4, classes=3):
        super().__init__()
        self.kind = nn.Embedding(KINDS, dim)
        self.place = nn.Embedding(MAX_EVENTS, dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = EventAttention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 64), nn.GELU(), nn.Linear(64, dim))
        self.head = nn.Linear(dim, classes)

    def forward(self, kinds, pad):
        t = kinds.shape[1]
        x = self.kind(kinds) + self.place(torch.arange(t))
        future = torch.full((t, t), float("-inf")).triu(1)
        padding = torch.zeros(pad.shape).masked_fill(pad, float("-inf"))
        bias = future[None, None] + padding[:, None, None]
        x = x + self.attention(self.norm1(x), bias)
        x = x + self.mlp(self.norm2(x))
        pooled = x.masked_fill(pad[..., None], float("-inf")).amax(dim=1)
        return self.head(pooled)


def accuracy(model, loader):
    model.eval()
    with torch.no_grad():
        return sum((model(k, p).argmax(1) == y).sum().item() for k, p, y in loader) / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(91)
    train = DataLoader(Stays(2600, seed=1), batch_size=65, shuffle=True, collate_fn=collate)
    val = DataLoader(Stays(600, seed=2), batch_size=200, collate_fn=collate)
    model = StayModel()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    for epoch in range(4):
        model.train()
        total = 0.0
        for kinds, pad, label in train:
            loss = F.cross_entropy(model(kinds, pad), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch + 1} loss {total / len(train):.4f} val accuracy {accuracy(model, val):.3f}")
