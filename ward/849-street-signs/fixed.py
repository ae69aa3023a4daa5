"""Words on street signs, letter by letter; log-softmax and NLL."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

STREETS = "mill lane church road high street station road park avenue green lane school lane bridge street".split()
MAXLEN = 8


class Signs(Dataset):
    def __init__(self, n, seed):
        self.g = torch.Generator().manual_seed(seed)
        self.glyph = torch.randn(26, 10, generator=torch.Generator().manual_seed(0))
        self.words = [STREETS[i] for i in torch.randint(0, len(STREETS), (n,), generator=self.g)]

    def __len__(self):
        return len(self.words)

    def __getitem__(self, i):
        codes = torch.tensor([ord(c) - 97 for c in self.words[i]])
        x = torch.zeros(MAXLEN, 10)
        x[:len(codes)] = self.glyph[codes] + 0.6 * torch.randn(len(codes), 10)
        y = torch.full((MAXLEN,), -1)
        y[:len(codes)] = codes
        return x, y


class Reader(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.gru = nn.GRU(10, d, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * d, 26)

    def forward(self, x):
        return torch.log_softmax(self.out(self.gru(x)[0]), dim=-1)


torch.manual_seed(3)
loader = DataLoader(Signs(1200, 1), batch_size=30, shuffle=True)
model = Reader()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
criterion = nn.NLLLoss(ignore_index=-1)
for epoch in range(4):
    total = 0.0
    for x, y in loader:
        logp = model(x)
        loss = criterion(logp.flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        total += loss.item() / len(loader)
    print(f"epoch {epoch} nll per letter {total:.4f}")
