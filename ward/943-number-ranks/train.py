"""Rank each of six numbers within its list: post-norm transformer encoder."""
import torch
from torch import nn

LENGTH, DIM, STEPS, PEAK = 6, 24, 180, 2.5e-2


def lists(n, g):
    x = torch.rand(n, LENGTH, generator=g) * 4 - 2
    return x, x.argsort(1).argsort(1)


class Ranker(nn.Module):
    def __init__(self, depth=4):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(1, DIM), nn.Tanh(), nn.Linear(DIM, DIM))
        layer = nn.TransformerEncoderLayer(DIM, 2, 2 * DIM, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth)
        self.rank = nn.Linear(DIM, LENGTH)

    def forward(self, x):
        return self.rank(self.encoder(self.embed(x.unsqueeze(2))))


def loss_of(model, x, rank):
    return nn.functional.cross_entropy(model(x).flatten(0, 1), rank.flatten())


torch.manual_seed(7)
g = torch.Generator().manual_seed(7)
val_x, val_rank = lists(300, g)
model = Ranker()
opt = torch.optim.Adam(model.parameters(), lr=PEAK, betas=(0.9, 0.98))
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: 1 - 0.9 * s / STEPS)
recent = []
for step in range(1, STEPS + 1):
    model.train()
    x, rank = lists(32, g)
    loss = loss_of(model, x, rank)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    recent.append(loss.item())
    if step % 20 == 0:
        model.eval()
        with torch.no_grad():
            val = loss_of(model, val_x, val_rank).item()
        print(f"step {step} loss {sum(recent) / len(recent):.4f} val {val:.4f} lr {sched.get_last_lr()[0]:.2e}")
        recent = []
