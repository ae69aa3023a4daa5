"""Walker on a cliff path: imitate an expert's moves from a rendered window."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, IterableDataset

MOVES = ["left", "right", "up", "down"]


def expert(view):
    """Goes to the side with the most open ground."""
    open_ground = torch.stack([view[:, :, :2].sum((1, 2)), view[:, :, 3:].sum((1, 2)), view[:, :2].sum((1, 2)), view[:, 3:].sum((1, 2))], 1)
    return open_ground.argmax(1)


class Episodes(IterableDataset):
    def __init__(self, batches, size, seed):
        self.batches, self.size, self.seed = batches, size, seed

    def __iter__(self):
        g = torch.Generator().manual_seed(self.seed)
        for _ in range(self.batches):
            view = torch.randn(self.size, 5, 5, generator=g)
            yield view, expert(view)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(25, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.logits = nn.Linear(64, len(MOVES))

    def forward(self, view):
        return self.logits(self.body(view))


torch.manual_seed(20)
policy = Policy()
optim = torch.optim.SGD(policy.parameters(), lr=1.5, momentum=0.9)
test_view, test_move = next(iter(Episodes(1, 500, 999)))
losses = []
for i, (view, move) in enumerate(DataLoader(Episodes(400, 32, 1), batch_size=None), 1):
    policy.train()
    loss = nn.functional.cross_entropy(policy(view), move)
    optim.zero_grad()
    loss.backward()
    optim.step()
    losses.append(loss.item())
    if i % 50 == 0:
        policy.eval()
        with torch.no_grad():
            out = policy(test_view)
        agree = (out.argmax(1) == test_move).float().mean().item()
        print(f"{i} loss {sum(losses[-50:]) / 50:.4f} val {nn.functional.cross_entropy(out, test_move).item():.4f} agrees {agree:.3f}")
