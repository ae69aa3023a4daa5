"""Learn to write a sequence of symbols backwards with a transformer encoder."""
import math
import time

import torch
import torch.nn as nn

VOCAB, LENGTH = 12, 10
D_MODEL, HEADS, LAYERS, D_FF = 64, 4, 6, 128
BATCH, STEPS = 40, 280
LR = 2e-3


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=64):
        super().__init__()
        pos = torch.arange(max_len).unsqueeze(1)
        freq = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, d_model)
        pe[:, 0::2] = torch.sin(pos * freq)
        pe[:, 1::2] = torch.cos(pos * freq)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[:x.size(1)]


class Reverser(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, D_MODEL)
        self.pos = PositionalEncoding(D_MODEL)
        layer = nn.TransformerEncoderLayer(D_MODEL, HEADS, D_FF, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.out = nn.Linear(D_MODEL, VOCAB)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, tokens):
        return self.out(self.encoder(self.pos(self.embed(tokens))))


def get_batch(n, generator):
    x = torch.randint(0, VOCAB, (n, LENGTH), generator=generator)
    return x, x.flip(1)


def main():
    torch.manual_seed(7)
    gen = torch.Generator().manual_seed(70)
    test_x, test_y = get_batch(256, torch.Generator().manual_seed(71))
    model = Reverser()
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=LR, betas=(0.9, 0.98), eps=1e-9)

    start, window = time.time(), []
    for step in range(1, STEPS + 1):
        model.train()
        x, y = get_batch(BATCH, gen)
        loss = loss_fn(model(x).reshape(-1, VOCAB), y.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        window.append(loss.item())
        if step % 40 == 0:
            model.eval()
            with torch.no_grad():
                logits = model(test_x)
                test_loss = loss_fn(logits.reshape(-1, VOCAB), test_y.reshape(-1)).item()
                acc = (logits.argmax(-1) == test_y).float().mean().item()
            print(f"step {step:4d}  train {sum(window) / len(window):.4f}  test {test_loss:.4f}  "
                  f"token acc {acc:.3f}  ({time.time() - start:.1f}s)")
            window = []


if __name__ == "__main__":
    main()
