import math
import torch
import torch.nn as nn
from sklearn.datasets import load_digits

torch.manual_seed(0)
digits = load_digits()
x = torch.tensor(digits.images, dtype=torch.float32) / 8 - 0.6
tokens = x.unfold(1, 4, 2).unfold(2, 4, 2).reshape(len(x), 9, 16)   # 9 overlapping patches of 4x4
labels = torch.tensor(digits.target)
shuffle = torch.randperm(len(labels))
tokens, labels = tokens[shuffle], labels[shuffle]
train_x, train_y, val_x, val_y = tokens[:1300], labels[:1300], tokens[1300:], labels[1300:]


class PatchTransformer(nn.Module):
    def __init__(self, d_model=64, nhead=4, layers=12):
        super().__init__()
        self.embed = nn.Linear(16, d_model)
        self.pos = nn.Parameter(0.02 * torch.randn(1, 9, d_model))
        layer = nn.TransformerEncoderLayer(d_model, nhead, dim_feedforward=128, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.cls = nn.Linear(d_model, 10)
        for p in self.encoder.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, t):
        return self.cls(self.encoder(self.embed(t) + self.pos).mean(1))


epochs, batch_size, peak, warmup = 14, 50, 1.5e-3, 150
model = PatchTransformer()
optimizer = torch.optim.Adam(model.parameters(), lr=peak, betas=(0.9, 0.98), eps=1e-9)
total = epochs * (len(train_y) // batch_size)


def rate(step):
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
for epoch in range(epochs):
    model.train()
    running = 0.0
    for b in torch.randperm(len(train_y)).split(batch_size):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(train_x[b]), train_y[b])
        loss.backward()
        optimizer.step()
        scheduler.step()
        running += loss.item() * len(b)
    model.eval()
    with torch.no_grad():
        logits = model(val_x)
    print(f"epoch {epoch + 1:2d}  lr {scheduler.get_last_lr()[0]:.2e}  train {running / len(train_y):.4f}  "
          f"val {nn.functional.cross_entropy(logits, val_y):.4f}  acc {(logits.argmax(-1) == val_y).float().mean():.3f}")
