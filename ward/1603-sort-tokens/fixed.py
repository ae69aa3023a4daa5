import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH, DIM, LAYERS = 12, 8, 32, 10
STEPS, WARMUP, BATCH, LR = 320, 60, 48, 5e-3


def sample(n, gen):
    x = torch.randint(0, VOCAB, (n, LENGTH), generator=gen)
    return x, x.sort(dim=1).values


class Sorter(nn.Module):
    """Encoder that puts each position's sorted token in one pass."""

    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, DIM)
        self.pos = nn.Embedding(LENGTH, DIM)
        layer = nn.TransformerEncoderLayer(DIM, 4, 2 * DIM, dropout=0.0, activation="gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.head = nn.Linear(DIM, VOCAB)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, x):
        h = self.tok(x) * DIM ** 0.5 + self.pos.weight
        return self.head(self.encoder(h))


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    model = Sorter()
    optimizer = torch.optim.Adam(model.parameters(), lr=LR, betas=(0.9, 0.98), eps=1e-9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min((s + 1) / WARMUP, (STEPS - s) / (STEPS - WARMUP)))
    x_val, y_val = sample(512, torch.Generator().manual_seed(2))
    running = 0.0
    for step in range(1, STEPS + 1):
        model.train()
        x, y = sample(BATCH, gen)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        running += loss.item()
        if step % 40 == 0:
            model.eval()
            with torch.no_grad():
                out = model(x_val)
                val = F.cross_entropy(out.flatten(0, 1), y_val.flatten()).item()
                acc = (out.argmax(-1) == y_val).float().mean().item()
            print(f"step {step:4d} train {running / 40:.4f} val {val:.4f} token acc {acc:.3f}")
            running = 0.0


if __name__ == "__main__":
    main()
