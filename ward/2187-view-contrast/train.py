"""Match the front and the side recording of the same part (InfoNCE with a hand-written log-sum-exp, both directions)."""
import numpy as np
import torch
import torch.nn as nn

LATENT, VIEW = 8, 32


def recordings(n, rng):
    maps = np.random.default_rng(1000)
    a, b = maps.normal(size=(LATENT, VIEW)) / LATENT ** 0.5, maps.normal(size=(LATENT, VIEW)) / LATENT ** 0.5
    z = rng.normal(size=(n, LATENT))
    front = np.tanh(1.5 * z @ a) + 0.1 * rng.normal(size=(n, VIEW))
    side = np.sin(1.2 * z @ b) + 0.1 * rng.normal(size=(n, VIEW))
    return torch.tensor(front / 0.75, dtype=torch.float32), torch.tensor(side / 0.65, dtype=torch.float32)


class ViewEncoder(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(VIEW, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU(), nn.Linear(96, dim))

    def forward(self, x):
        return nn.functional.normalize(self.net(x), dim=1)


def log_sum_exp(s, dim):
    top = s.max(dim=dim, keepdim=True).values.detach()
    return ((s - top).exp().sum(dim=dim, keepdim=True).log() + top).squeeze(dim)


class Matcher(nn.Module):
    def __init__(self):
        super().__init__()
        self.front, self.side = ViewEncoder(), ViewEncoder()
        self.log_scale = nn.Parameter(torch.tensor(2.3))

    def similarity(self, f, s):
        return self.front(f) @ self.side(s).T * self.log_scale.exp().clamp(max=50)

    def loss(self, f, s):
        sim = self.similarity(f, s)
        match = sim.diagonal()
        return 0.5 * ((log_sum_exp(sim, 1) - match).mean() + (log_sum_exp(sim, 0) - match).mean())


def main(epochs=20, batch=128):
    torch.manual_seed(47)
    rng = np.random.default_rng(47)
    front, side = recordings(8000, rng)
    val_front, val_side = recordings(512, rng)
    model = Matcher()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, 3e-3, total_steps=epochs * (len(front) // batch))
    for epoch in range(epochs):
        model.train()
        losses = []
        for rows in torch.randperm(len(front)).split(batch):
            if len(rows) < batch:
                continue                     # the loss depends on the number of candidates
            loss = model.loss(front[rows], side[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            vloss = np.mean([model.loss(f, s).item() for f, s in zip(val_front.split(batch), val_side.split(batch))])
            top1 = (model.similarity(val_front, val_side).argmax(1) == torch.arange(512)).float().mean().item()
        print(f"epoch {epoch + 1:2d}  train {np.mean(losses):.4f}  val {vloss:.4f}  top-1 of 512 {top1:.3f}")


main()
