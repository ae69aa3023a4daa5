"""Encoder of "Attention is all you need" on a token classification toy task:
for every position say how many times its token has occurred in the sentence."""
import math
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
VOCAB, LENGTH, MAX_COUNT = 12, 16, 5


def make(n):
    x = torch.randint(VOCAB, (n, LENGTH))
    count = (x[:, :, None] == x[:, None, :]).sum(-1)
    return TensorDataset(x, count.clamp(max=MAX_COUNT) - 1)


class Tagger(nn.Module):
    def __init__(self, d=64, heads=4, layers=6):
        super().__init__()
        self.d = d
        self.tok = nn.Embedding(VOCAB, d)
        self.pos = nn.Embedding(LENGTH, d)
        layer = nn.TransformerEncoderLayer(d, heads, 2 * d, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        for p in self.encoder.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)
        self.head = nn.Linear(d, MAX_COUNT)

    def forward(self, x):
        h = self.tok(x) + self.pos(torch.arange(x.shape[1]))
        return self.head(self.encoder(h))


train_dl = DataLoader(make(3200), batch_size=32, shuffle=True)
val_dl = DataLoader(make(640), batch_size=320)
model = Tagger()
opt = torch.optim.Adam(model.parameters(), lr=2e-3, betas=(0.9, 0.98), eps=1e-9)
EPOCHS = 5
total = EPOCHS * len(train_dl)
schedule = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: max(0.02, 1 - s / total))
ce = nn.CrossEntropyLoss()

for epoch in range(EPOCHS):
    model.train()
    for i, (x, y) in enumerate(train_dl):
        loss = ce(model(x).flatten(0, 1), y.flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        schedule.step()
        if i % 25 == 0:
            print(f"epoch {epoch} it {i:3d} loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        hits = sum((model(x).argmax(-1) == y).float().mean().item() for x, y in val_dl) / len(val_dl)
    print(f"epoch {epoch} token accuracy {hits:.3f}")
