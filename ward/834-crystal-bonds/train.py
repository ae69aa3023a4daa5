"""Energy of small clusters from learned bond lengths; one class runs everything."""
import torch
import torch.nn as nn


class BondModel(nn.Module):
    def __init__(self, species=4):
        super().__init__()
        self.site = nn.Parameter(0.5 * torch.randn(species, 3))
        self.curve = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, cluster):
        q = self.site[cluster]
        d = torch.sqrt(((q[:, :, None] - q[:, None]) ** 2).sum(-1))
        return self.curve(d.unsqueeze(-1)).mean((1, 2, 3))


class Runner:
    def __init__(self, seed=0, lr=1e-2, steps=300, batch=48):
        torch.manual_seed(seed)
        self.table = torch.tensor([[0.0, 1.2, 0.3, 2.0], [1.2, 0.0, 1.0, 0.5], [0.3, 1.0, 0.0, 1.6], [2.0, 0.5, 1.6, 0.0]])
        self.model = BondModel()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.steps, self.batch = steps, batch

    def clusters(self, n):
        c = torch.randint(0, 4, (n, 5))
        return c, self.table[c[:, :, None], c[:, None]].mean((1, 2))

    def clean_gradients(self):
        for p in self.model.parameters():
            if p.grad is not None:
                p.grad[torch.isnan(p.grad)] = 0.0

    def train(self):
        for step in range(1, self.steps + 1):
            c, energy = self.clusters(self.batch)
            loss = ((self.model(c) - energy) ** 2).mean()
            self.opt.zero_grad()
            loss.backward()
            self.clean_gradients()
            self.opt.step()
            if step % 30 == 0 or step == 1:
                print(f"step {step:3d} loss {loss.item():.5f} site norm {self.model.site.detach().norm().item():.4f}")


Runner().train()
