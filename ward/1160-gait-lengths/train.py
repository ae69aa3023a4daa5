"""Walking condition (level, ramp, stairs, carrying) from strides of different length."""
import itertools

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class Strides(Dataset):
    """Each item: (length, 4) tensor of joint angles, and the condition."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            length = int(torch.randint(10, 19, (1,), generator=g))
            condition = int(torch.randint(4, (1,), generator=g))
            t = torch.linspace(0, 6.283, length).unsqueeze(1)
            shift = torch.tensor([0.0, 0.7, 1.4, 2.1])[condition]
            wave = torch.sin(t + shift + torch.tensor([0.0, 0.5, 1.0, 1.5]))
            self.items.append((wave + 0.7 * torch.randn(length, 4, generator=g), condition))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    strides, conditions = zip(*batch)
    lengths = torch.tensor([len(s) for s in strides])
    return pad_sequence(strides, batch_first=True), lengths, torch.tensor(conditions)


class StrideNet(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(4, width, 5, padding=2), nn.Tanh(), nn.Conv1d(width, width, 5, padding=2), nn.Tanh())
        self.score = nn.Linear(width, 1)
        self.out = nn.Linear(width, 4)

    def forward(self, x, lengths):
        h = self.conv(x.transpose(1, 2)).transpose(1, 2)
        mask = torch.arange(x.shape[1])[None] < lengths[:, None]
        weight = self.score(h).squeeze(2).masked_fill(~mask, -1e9).softmax(1)
        return self.out((weight.unsqueeze(2) * h).sum(1))


def forever(loader):
    while True:
        yield from loader


torch.manual_seed(23)
train_loader = DataLoader(Strides(1000, seed=1), shuffle=True, collate_fn=collate)
val_x, val_len, val_y = collate(list(Strides(300, seed=2)))
model = StrideNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
criterion = nn.CrossEntropyLoss()

recent = []
for step, (x, lengths, y) in enumerate(itertools.islice(forever(train_loader), 300), start=1):
    model.train()
    optimizer.zero_grad()
    loss = criterion(model(x, lengths), y)
    loss.backward()
    optimizer.step()
    recent.append(loss.item())
    if step % 30 == 0:
        model.eval()
        with torch.no_grad():
            out = model(val_x, val_len)
        print(f"step {step:3d}: loss {sum(recent) / len(recent):.3f} val {criterion(out, val_y):.3f} "
              f"acc {(out.argmax(1) == val_y).float().mean():.3f}")
        recent = []
