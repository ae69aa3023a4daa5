# Which river basin does a gauge name come from? Made-up names, bidirectional GRU over the letters.
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence, pack_padded_sequence
from torch.utils.data import DataLoader, Dataset

BASINS = {
    "north": (["vik", "sund", "fjor", "ost", "hal", "gro"], ["dal", "strom", "vatn", "berg"]),
    "south": (["mon", "val", "riv", "cas", "sant", "bel"], ["ezza", "ora", "ino", "etta"]),
    "west": (["glen", "aber", "kil", "dun", "lox", "pen"], ["more", "wick", "ford", "dale"]),
    "east": (["nov", "kras", "bor", "zel", "vol", "mir"], ["grad", "sk", "ava", "itsa"]),
}
LETTERS = {c: i + 1 for i, c in enumerate("abcdefghijklmnopqrstuvwxyz")}


def invent(rng):
    basin = rng.randrange(4)
    starts, ends = list(BASINS.values())[basin]
    name = rng.choice(starts) + rng.choice("aeiou") + rng.choice(ends)
    noise = "".join(c if rng.random() > 0.08 else rng.choice("aeioulmnrst") for c in name)
    return noise, basin


class Gauges(Dataset):
    def __init__(self, n, seed):
        rng = random.Random(seed)
        self.data = [invent(rng) for _ in range(n)]

    def __len__(self):
        return len(self.data)

    def __getitem__(self, i):
        name, basin = self.data[i]
        return torch.tensor([LETTERS[c] for c in name]), basin


def collate(items):
    items.sort(key=lambda it: -len(it[0]))
    names, basins = zip(*items)
    lengths = torch.tensor([len(n) for n in names])
    return pad_sequence(names, batch_first=True), lengths, torch.tensor(basins)


class NameReader(nn.Module):
    def __init__(self, emb=16, hidden=32, classes=4):
        super().__init__()
        self.hidden = hidden
        self.embed = nn.Embedding(27, emb, padding_idx=0)
        self.gru = nn.GRU(emb, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, classes)

    def forward(self, names, lengths):
        packed = pack_padded_sequence(self.embed(names), lengths, batch_first=True)
        _, h_n = self.gru(packed)
        both = torch.cat([h_n[0], h_n[1]], dim=1)
        return self.fc(both)


def accuracy(model, loader):
    model.eval()
    hits = 0
    with torch.no_grad():
        for names, lengths, basins in loader:
            hits += (model(names, lengths).argmax(dim=1) == basins).sum().item()
    return hits / len(loader.dataset)


def main():
    torch.manual_seed(31)
    train_loader = DataLoader(Gauges(1600, seed=1), batch_size=40, shuffle=True, collate_fn=collate)
    val_loader = DataLoader(Gauges(400, seed=2), batch_size=40, collate_fn=collate)
    model = NameReader()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(1, 5):
        model.train()
        total = 0.0
        for names, lengths, basins in train_loader:
            optimizer.zero_grad()
            loss = criterion(model(names, lengths), basins)
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"Epoch {epoch}: loss {total / len(train_loader):.4f}, val acc {accuracy(model, val_loader):.3f}")


if __name__ == "__main__":
    main()
