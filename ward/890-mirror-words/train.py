"""A small encoder learns to write words backwards."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)
LETTERS, LENGTH, WIDTH = 20, 10, 48


class Mirror(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(LETTERS, WIDTH)
        self.places = nn.Parameter(torch.randn(LENGTH, WIDTH) * 0.02)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 8, enable_nested_tensor=False)
        self.out = nn.Linear(WIDTH, LETTERS)

    def forward(self, words):
        return self.out(self.encoder(self.letters(words) + self.places))


model = Mirror()
optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.2, 1 - step / 900))
for step in range(180):
    words = torch.randint(0, LETTERS, (16, LENGTH))
    logits = model(words)
    loss = F.cross_entropy(logits.flatten(0, 1), words.flip(1).flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 30 == 0:
        print(f"step {step:3d}  loss {loss.item():.3f}")
