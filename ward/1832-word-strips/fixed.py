"""Read short words from strips of 20 columns with a convolutional and recurrent net and CTC."""
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

random.seed(8)
torch.manual_seed(8)
LETTERS = "abcdefgh"
SHAPES = torch.randn(len(LETTERS) + 1, 8, 3)


class Words(Dataset):
    def __init__(self, count):
        self.words = []
        for i in range(count):
            longest = 6 if i % 90 else 9
            self.words.append("".join(random.choice(LETTERS) for _ in range(random.randint(3, longest))))

    def __len__(self):
        return len(self.words)

    def __getitem__(self, i):
        word = self.words[i]
        strip = torch.zeros(8, 32)
        for k, letter in enumerate(word):
            strip[:, 3 * k : 3 * k + 3] = SHAPES[LETTERS.index(letter) + 1]
        return strip + 0.1 * torch.randn(8, 32), torch.tensor([LETTERS.index(c) + 1 for c in word])


def collate(items):
    strips, words = zip(*items)
    return torch.stack(strips), torch.cat(words), torch.tensor([len(w) for w in words])


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(8, 32, 3, padding=1), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(32, 32, 3, padding=1), nn.ReLU(), nn.MaxPool1d(2))
        self.rnn = nn.GRU(32, 32, bidirectional=True, batch_first=True)
        self.out = nn.Linear(64, len(LETTERS) + 1)

    def forward(self, x):
        h, _ = self.rnn(self.conv(x).transpose(1, 2))
        return self.out(h).log_softmax(-1)


loader = DataLoader(Words(720), batch_size=24, shuffle=True, collate_fn=collate)
model = Reader()
ctc = nn.CTCLoss(blank=0, zero_infinity=True)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(12):
    running = 0.0
    for strips, words, lengths in loader:
        logits = model(strips).transpose(0, 1)
        widths = torch.full((strips.shape[0],), logits.shape[0], dtype=torch.long)
        loss = ctc(logits, words, widths, lengths)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        running += loss.item()
    print(f"epoch {epoch}: ctc {running / len(loader):.3f}")
