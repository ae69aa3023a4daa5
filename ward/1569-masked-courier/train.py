"""REINFORCE with legal-move masks: a courier on a 5x5 town map, one-way streets included."""
import torch
import torch.nn as nn

torch.manual_seed(2)
N = 5
MOVES = torch.tensor([[-1, 0], [1, 0], [0, -1], [0, 1]])
GOAL = torch.tensor([4, 4])


def legal(pos):
    """(B, 4) mask: not off the map, no driving up in column 2."""
    nxt = pos.unsqueeze(1) + MOVES
    ok = ((nxt >= 0) & (nxt < N)).all(dim=2)
    ok[:, 0] &= pos[:, 1] != 2
    return ok


class Policy(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(N * N, hidden), nn.Tanh(), nn.Linear(hidden, 4))

    def forward(self, pos):
        x = nn.functional.one_hot(pos[:, 0] * N + pos[:, 1], N * N).float()
        logits = self.net(x).masked_fill(~legal(pos), float("-inf"))
        return torch.distributions.Categorical(logits=logits)


def rollout(policy, batch=64, horizon=16):
    pos = torch.randint(0, N, (batch, 2))
    alive = (pos != GOAL).any(dim=1).float()
    logps, rewards, masks = [], [], []
    for _ in range(horizon):
        dist = policy(pos)
        action = dist.sample()
        pos = torch.where(alive.bool().unsqueeze(1), pos + MOVES[action], pos)
        logps.append(dist.log_prob(action))
        masks.append(alive)
        arrived = (pos == GOAL).all(dim=1).float()
        rewards.append(alive * (arrived - 0.05))
        alive = alive * (1 - arrived)
    return torch.stack(logps), torch.stack(rewards), torch.stack(masks), 1 - alive


policy = Policy()
opt = torch.optim.Adam(policy.parameters(), lr=5e-3)
log = []
for it in range(1, 401):
    logp, reward, mask, arrived = rollout(policy)
    returns = reward.flip(0).cumsum(0).flip(0)
    baseline = (returns * mask).sum(1, keepdim=True) / mask.sum(1, keepdim=True).clamp(min=1)
    loss = -(logp * mask * (returns - baseline)).sum() / mask.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    log.append((loss.item(), reward.sum(0).mean().item(), arrived.mean().item()))
    if it % 40 == 0:
        last = torch.tensor(log[-40:]).mean(0)
        print(f"iteration {it} surrogate {last[0]:+.4f} return {last[1]:+.3f} delivered {last[2]:.3f}")
