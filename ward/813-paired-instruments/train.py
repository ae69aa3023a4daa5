"""Two sensors watch the same event: contrastive matching of their windows (InfoNCE)."""
import argparse
import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=400)
parser.add_argument("--batch", type=int, default=48)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--temperature", type=float, default=0.12)
args = parser.parse_args()
torch.manual_seed(23)

events_to_a = torch.randn(8, 20) / 8 ** 0.5
events_to_b = torch.randn(8, 20) / 8 ** 0.5


def windows(n):
    e = torch.randn(n, 8)
    return torch.tanh(e @ events_to_a) + 0.1 * torch.randn(n, 20), torch.tanh(e @ events_to_b) + 0.1 * torch.randn(n, 20)


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 64), nn.GELU(), nn.Linear(64, 16),
                                 nn.Softplus())           # firing rates

    def forward(self, x):
        return self.net(x)


def info_nce(za, zb, temperature):
    sim = za @ zb.T / temperature
    positive = sim.diagonal()
    partition = torch.log(torch.exp(sim).sum(dim=1))
    return (partition - positive).mean()


tower_a, tower_b = Tower(), Tower()
opt = torch.optim.AdamW([*tower_a.parameters(), *tower_b.parameters()], lr=args.lr, weight_decay=1e-3)
test_a, test_b = windows(200)
for step in range(args.steps):
    a, b = windows(args.batch)
    loss = info_nce(tower_a(a), tower_b(b), args.temperature)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 40 == 0 or step == args.steps - 1:
        with torch.no_grad():
            found = (tower_a(test_a) @ tower_b(test_b).T).argmax(1)
            top1 = (found == torch.arange(200)).float().mean().item()
        print(f"step {step:3d} | loss {loss.item():.4f} | matched {top1:.3f}")
