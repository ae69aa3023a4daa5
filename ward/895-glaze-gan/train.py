"""Curves of glaze temperature, imitated by a generator."""
import torch
import torch.nn as nn

torch.manual_seed(95)
generator = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 12))
critic = nn.Sequential(nn.Linear(12, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
g_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.99))
c_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.99))
bce = nn.BCEWithLogitsLoss()
time = torch.linspace(0, 3, 12)


def curves(n):
    return torch.sin(time + torch.rand(n, 1)) * (0.8 + 0.4 * torch.rand(n, 1))


for step in range(300):
    real = curves(32)
    fake = generator(torch.randn(32, 6))
    on_real, on_fake = critic(real), critic(fake)
    c_loss = bce(on_real, torch.ones(32, 1)) + bce(on_fake, torch.zeros(32, 1))
    g_loss = bce(on_fake, torch.ones(32, 1))

    c_optimizer.zero_grad()
    c_loss.backward(retain_graph=True)
    c_optimizer.step()

    g_optimizer.zero_grad()
    g_loss.backward()
    g_optimizer.step()
    if step % 60 == 0:
        print(f"{step}: critic {c_loss.item():.3f} generator {g_loss.item():.3f}")
