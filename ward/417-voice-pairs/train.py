import torch
from torch import nn, optim


class Speakers:
    """30 voices, each a point cloud in a 24-dimensional feature space."""

    def __init__(self, voices=30, takes=30, dim=24, seed=0):
        g = torch.Generator().manual_seed(seed)
        centre = torch.randn(voices, 1, dim, generator=g)
        self.takes = centre + 0.5 * torch.randn(voices, takes, dim, generator=g)
        self.g = g

    def pairs(self, n):
        voices, takes, _ = self.takes.shape
        a_voice = torch.randint(voices, (n,), generator=self.g)
        same = torch.rand(n, generator=self.g) < 0.5
        other = (a_voice + torch.randint(1, voices, (n,), generator=self.g)) % voices
        b_voice = torch.where(same, a_voice, other)
        i = torch.randint(takes, (n,), generator=self.g)
        j = torch.randint(takes, (n,), generator=self.g)
        return self.takes[a_voice, i], self.takes[b_voice, j], same.float()


class Embedder(nn.Module):
    def __init__(self, dim=24, out=12):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(dim, 48), nn.LeakyReLU(0.1), nn.Linear(48, out))

    def forward(self, x):
        return self.layers(x)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=2.0):
        super().__init__()
        self.margin = margin

    def distance(self, a, b):
        return torch.sqrt(((a - b) ** 2).sum(dim=1))

    def forward(self, a, b, same):
        d = self.distance(a, b)
        return (same * d ** 2 + (1 - same) * (self.margin - d).clamp(min=0) ** 2).mean()


def main():
    torch.manual_seed(28)
    data = Speakers(seed=28)
    embed, criterion = Embedder(), ContrastiveLoss()
    optimizer = optim.Adam(embed.parameters(), lr=2e-3)
    test_a, test_b, test_same = data.pairs(600)
    recent = []
    for step in range(1, 401):
        a, b, same = data.pairs(48)
        loss = criterion(embed(a), embed(b), same)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent.append(loss.item())
        if step % 40 == 0:
            with torch.no_grad():
                d = criterion.distance(embed(test_a), embed(test_b))
                acc = ((d < 1.0).float() == test_same).float().mean().item()
            print(f"step {step:3d}  loss {sum(recent) / len(recent):.4f}  pairs right {acc:.3f}")
            recent = []


if __name__ == "__main__":
    main()
