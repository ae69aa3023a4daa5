"""Prototypical network: five glyphs, three examples each, new ones in every episode."""
import torch
from torch import nn

WAY, SHOT, QUERY = 5, 3, 8


def episode(glyphs, g):
    chosen = torch.randperm(len(glyphs), generator=g)[:WAY]
    base = glyphs[chosen]
    draw = lambda k: base[:, None] + 0.9 * torch.randn(WAY, k, base.shape[1], generator=g)
    return draw(SHOT), draw(QUERY).flatten(0, 1), torch.arange(WAY).repeat_interleave(QUERY)


def make_glyphs(n, g):
    """Glyphs differ in six hidden traits, shown in forty strokes with clutter."""
    return torch.tanh(torch.randn(n, 6, generator=g) @ strokes) * 1.0


class Embed(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 16))

    def forward(self, support, query):
        proto = self.net(support).mean(1)
        return -torch.cdist(self.net(query), proto) ** 2


torch.manual_seed(57)
g = torch.Generator().manual_seed(57)
strokes = torch.randn(6, 40, generator=g) * 0.7
train_glyphs, test_glyphs = make_glyphs(300, g), make_glyphs(100, g)
model = Embed()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
recent = []
for step in range(1, 351):
    model.train()
    support, query, target = episode(train_glyphs, g)
    loss = nn.functional.cross_entropy(model(support, query), target)
    opt.zero_grad()
    loss.backward()
    opt.step()
    recent.append(loss.item())
    if step % 50 == 0:
        model.eval()
        with torch.no_grad():
            trials = [(model(s, q), t) for s, q, t in (episode(test_glyphs, g) for _ in range(25))]
        val = sum(nn.functional.cross_entropy(o, t).item() for o, t in trials) / 25
        acc = sum((o.argmax(1) == t).float().mean().item() for o, t in trials) / 25
        print(f"episode {step} loss {sum(recent) / len(recent):.4f} new glyphs {val:.4f} acc {acc:.3f}")
        recent = []
