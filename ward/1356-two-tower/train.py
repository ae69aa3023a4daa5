"""Two-tower retrieval (recipe text -> picture features), contrastive with in-batch negatives."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(40)
N_TRAIN, N_VAL, VOCAB = 3000, 300, 60


def make_pairs(n, gen):
    """a recipe = 8 ingredients of 60; the picture shows a fixed noisy projection of their amounts"""
    words = torch.stack([torch.randperm(VOCAB, generator=gen)[:8] for _ in range(n)])
    amount = torch.zeros(n, VOCAB).scatter_(1, words, 1.0)
    picture = torch.tanh(amount @ PROJ) + 0.3 * torch.randn(n, 48, generator=gen)
    return words, (picture - picture.mean(0)) / picture.std(0)


gen = torch.Generator().manual_seed(41)
PROJ = torch.randn(VOCAB, 48, generator=gen) * 0.5
w_tr, p_tr = make_pairs(N_TRAIN, gen)
w_va, p_va = make_pairs(N_VAL, gen)


class TextTower(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.emb = nn.EmbeddingBag(VOCAB, 64, mode="mean")
        self.mlp = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, w):
        return F.normalize(self.mlp(self.emb(w)), dim=-1)


class PictureTower(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, p):
        return F.normalize(self.mlp(p), dim=-1)


class Matcher(nn.Module):
    def __init__(self):
        super().__init__()
        self.text, self.picture = TextTower(), PictureTower()
        self.log_scale = nn.Parameter(torch.tensor(math.log(10.0)))

    def forward(self, w, p):
        return self.log_scale.exp().clamp(max=100) * self.text(w) @ self.picture(p).T


def clip_loss(sim):
    target = torch.arange(len(sim))
    return 0.5 * (F.cross_entropy(sim, target) + F.cross_entropy(sim.T, target))


model = Matcher()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
epochs = 16
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
for epoch in range(1, epochs + 1):
    model.train()
    losses = []
    for idx in torch.randperm(N_TRAIN).split(100):
        loss = clip_loss(model(w_tr[idx], p_tr[idx]))
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    sched.step()
    if epoch % 2 == 0:
        model.eval()
        with torch.no_grad():
            val = sum(clip_loss(model(w_va[i:i + 100], p_va[i:i + 100])).item() for i in range(0, N_VAL, 100)) / (N_VAL // 100)
            rank = (model(w_va, p_va).argsort(1, descending=True) == torch.arange(N_VAL)[:, None]).float().argmax(1)
        print(f"epoch {epoch:2d}  loss {sum(losses) / len(losses):.3f}  val {val:.3f}  R@1 {(rank == 0).float().mean():.3f}"
              f"  R@5 {(rank < 5).float().mean():.3f}  scale {model.log_scale.exp().item():.1f}")
