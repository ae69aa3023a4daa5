"""Generate two-dimensional rings with a critic that is kept smooth by a penalty on the size of its gradient."""
import torch
from torch import nn

torch.manual_seed(31)


def rings(n):
    angle = torch.rand(n) * 6.2832
    radius = torch.where(torch.rand(n) < 0.5, 1.0, 2.0)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], 1) + 0.02 * torch.randn(n, 2)


class Generator(nn.Module):
    def __init__(self, noise=4, width=32):
        super().__init__()
        self.noise = noise
        self.net = nn.Sequential(nn.Linear(noise, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, n):
        return self.net(torch.randn(n, self.noise))


class Critic(nn.Module):
    def __init__(self, width=10):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


class Trainer:
    def __init__(self, batch=64):
        self.batch = batch
        self.generator, self.critic = Generator(), Critic()
        self.for_generator = torch.optim.Adam(self.generator.parameters(), lr=2e-3, betas=(0.5, 0.9))
        self.for_critic = torch.optim.Adam(self.critic.parameters(), lr=1e-2, betas=(0.5, 0.9))

    def smoothness(self, real, fake):
        mix = torch.rand(self.batch, 1)
        between = (mix * real + (1 - mix) * fake).requires_grad_(True)
        (slope,) = torch.autograd.grad(self.critic(between).sum(), between, create_graph=True)
        size = torch.sqrt((slope ** 2).sum(1) + 1e-12)
        return ((size - 1) ** 2).mean()

    def critic_step(self):
        real, fake = rings(self.batch), self.generator(self.batch).detach()
        loss = self.critic(fake).mean() - self.critic(real).mean() + 10 * self.smoothness(real, fake)
        self.for_critic.zero_grad()
        loss.backward()
        self.for_critic.step()
        return loss.item()

    def generator_step(self):
        loss = -self.critic(self.generator(self.batch)).mean()
        self.for_generator.zero_grad()
        loss.backward()
        self.for_generator.step()
        return loss.item()


trainer = Trainer()
for round_ in range(120):
    for _ in range(3):
        c = trainer.critic_step()
    g = trainer.generator_step()
    if round_ % 20 == 0:
        print(f"round {round_:3d} critic {c:8.4f} generator {g:8.4f}")
