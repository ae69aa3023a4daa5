"""Sort the strokes of a bell pattern: a post-norm transformer reads 10 numbers and says each one's rank."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(4)

D_MODEL, HEADS, LAYERS, LENGTH, VOCAB = 32, 4, 5, 10, 30


class NoamOpt:
    """Optimizer wrapper that sets the rate before each step, as in the annotated transformer."""

    def __init__(self, model_size, factor, warmup, optimizer):
        self.optimizer = optimizer
        self._step = 0
        self.warmup = warmup
        self.factor = factor
        self.model_size = model_size

    def rate(self, step):
        return self.factor * self.model_size ** -0.5 * min(step ** -0.5, step * self.warmup ** -1.5)

    def step(self):
        self._step += 1
        for p in self.optimizer.param_groups:
            p["lr"] = self.rate(self._step)
        self.optimizer.step()

    def zero_grad(self):
        self.optimizer.zero_grad()


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, D_MODEL)
        layer = nn.TransformerEncoderLayer(D_MODEL, HEADS, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
        self.generator = nn.Linear(D_MODEL, LENGTH)

    def forward(self, src):
        return self.generator(self.encoder(self.embed(src)))


def data_gen(batch, nbatches):
    for _ in range(nbatches):
        src = torch.stack([torch.randperm(VOCAB)[:LENGTH] for _ in range(batch)])
        yield src, src.argsort(1).argsort(1)


model = Ranker()
model_opt = NoamOpt(D_MODEL, 0.4, 60, torch.optim.Adam(model.parameters(), lr=0, betas=(0.9, 0.98), eps=1e-9))
running = 0.0
for i, (src, rank) in enumerate(data_gen(24, 140), 1):
    loss = F.cross_entropy(model(src).flatten(0, 1), rank.flatten())
    model_opt.zero_grad()
    loss.backward()
    model_opt.step()
    running += loss.item()
    if i % 20 == 0:
        print(f"step {i:4d}  loss {running / 20:.4f}")
        running = 0.0
model.eval()
with torch.no_grad():
    src, rank = next(data_gen(300, 1))
    print(f"ranks right: {(model(src).argmax(-1) == rank).float().mean():.3f}")
