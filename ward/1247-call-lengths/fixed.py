"""Bird calls of varying length: mean pitch bend from a GRU, with batches packed by a frame budget."""
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset, Sampler


class Calls(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            length = int(torch.randint(5, 16, (1,), generator=g))
            bend = torch.randn(1, generator=g)
            seq = torch.randn(length, 3, generator=g)
            seq[:, 0] += bend * torch.linspace(0.5, 1.5, length)
            seq[:, 1] += 0.5 * bend ** 2
            self.items.append((seq, bend + 1.0 * torch.randn(1, generator=g)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class FrameBudgetSampler(Sampler):
    """Groups calls at random until the number of frames reaches the budget."""

    def __init__(self, dataset, max_frames):
        self.lengths = [len(seq) for seq, _ in dataset.items]
        self.max_frames = max_frames

    def __iter__(self):
        order = list(range(len(self.lengths)))
        random.shuffle(order)
        batch, frames = [], 0
        for i in order:
            if batch and frames + self.lengths[i] > self.max_frames:
                yield batch
                batch, frames = [], 0
            batch.append(i)
            frames += self.lengths[i]
        yield batch


def collate(items):
    seqs, bends = zip(*items)
    lengths = torch.tensor([len(s) for s in seqs])
    return pad_sequence(seqs, batch_first=True), lengths, torch.cat(bends)


class BendNet(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.gru = nn.GRU(3, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        return self.out(self.gru(packed)[1][-1]).squeeze(1)


random.seed(6)
torch.manual_seed(6)
train_set, val_set = Calls(6000, 1), Calls(600, 2)
loader = DataLoader(train_set, batch_sampler=FrameBudgetSampler(train_set, max_frames=800), collate_fn=collate)
val = collate(val_set.items)
model = BendNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
mse = nn.MSELoss()
step, total, seen = 0, 0.0, 0
while step < 240:
    for x, lengths, bend in loader:
        loss = mse(model(x, lengths), bend)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step, total, seen = step + 1, total + loss.item(), seen + 1
        if step % 30 == 0:
            model.eval()
            with torch.no_grad():
                v = mse(model(val[0], val[1]), val[2]).item()
            model.train()
            print(f"step {step}: train mse {total / seen:.4f}, val mse {v:.4f}")
            total, seen = 0.0, 0
        if step == 240:
            break
