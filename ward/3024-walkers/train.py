import numpy as np
import torch
import torch.nn as nn
from sklearn.model_selection import GroupShuffleSplit
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

CHANNELS = ["speed", "turn", "height", "gps_ok", "device_v2"]


class Walks(Dataset):
    """Walks of different length by many people; label: on foot, bicycle or bus."""

    def __init__(self, walks):
        self.walks = walks

    def __len__(self):
        return len(self.walks)

    def __getitem__(self, i):
        return self.walks[i]


def make_walks(people, rng):
    walks, owner = [], []
    for person in range(people):
        pace = rng.normal(1, 0.08)
        for _ in range(rng.integers(12, 22)):
            mode = int(rng.integers(3))
            n = int(rng.integers(15, 60))
            speed = pace * np.array([1.4, 4.2, 6.5])[mode] + rng.normal(0, [0.3, 0.9, 1.2][mode], n)
            if mode == 2:
                speed *= (np.sin(np.arange(n) / 5 + rng.uniform(0, 6)) > -0.5)
            turn = rng.normal(0, [0.6, 0.4, 0.2][mode], n)
            height = np.cumsum(rng.normal(0, 0.1, n))
            x = np.stack([(speed - 4) / 2.5, turn / 0.4, height, np.ones(n), np.zeros(n)], 1)
            walks.append((torch.tensor(x, dtype=torch.float32), mode))
            owner.append(person)
    return walks, np.array(owner)


def collate(batch):
    batch = sorted(batch, key=lambda b: -len(b[0]))
    xs, ys = zip(*batch)
    return pad_sequence(xs, batch_first=True), torch.tensor([len(x) for x in xs]), torch.tensor(ys)


class Model(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.LSTM(len(CHANNELS), hidden, batch_first=True)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(hidden, 3)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=True)
        _, (h, _) = self.rnn(packed)
        return self.out(self.drop(h[-1]))


def main():
    rng = np.random.default_rng(55)
    torch.manual_seed(55)
    walks, owner = make_walks(120, rng)
    train_ids, val_ids = next(GroupShuffleSplit(1, test_size=0.25, random_state=0).split(walks, groups=owner))
    assert not set(owner[train_ids]) & set(owner[val_ids])
    train = DataLoader(Walks([walks[i] for i in train_ids]), batch_size=32, shuffle=True, collate_fn=collate)
    val = DataLoader(Walks([walks[i] for i in val_ids]), batch_size=128, collate_fn=collate)
    model = Model()
    opt = torch.optim.Adam(model.parameters(), lr=1.5e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 14)
    for epoch in range(14):
        model.train()
        tot = n = 0
        for x, lengths, y in train:
            loss = nn.functional.cross_entropy(model(x, lengths), y)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            tot, n = tot + loss.item() * len(y), n + len(y)
        sched.step()
        model.eval()
        vl = hits = m = 0
        with torch.no_grad():
            for x, lengths, y in val:
                out = model(x, lengths)
                vl += nn.functional.cross_entropy(out, y, reduction="sum").item()
                hits += (out.argmax(1) == y).sum().item()
                m += len(y)
        print(f"epoch {epoch + 1:2d}  train {tot / n:.4f}  val {vl / m:.4f}  acc {hits / m:.4f}")


main()
