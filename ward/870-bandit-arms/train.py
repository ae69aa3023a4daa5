"""REINFORCE on a contextual bandit with rare large rewards: the loss jumps about, the reward rises."""
import torch
import torch.nn as nn

torch.manual_seed(19)
true = torch.randn(6, 4)


def pull(ctx, arm):
    p = torch.sigmoid(2 * (ctx @ true).gather(1, arm[:, None]).squeeze(1) - 1.0)
    win = (torch.rand(len(arm)) < p).float()
    jackpot = (torch.rand(len(arm)) < 0.02).float() * 10
    return win * (1 + jackpot)


policy = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 4))
opt = torch.optim.Adam(policy.parameters(), lr=5e-3)
baseline, mean_reward = 0.0, 0.0
for it in range(1, 401):
    ctx = torch.randn(64, 6)
    dist = torch.distributions.Categorical(logits=policy(ctx))
    arm = dist.sample()
    reward = pull(ctx, arm)
    loss = -((reward - baseline) * dist.log_prob(arm)).mean() - 0.01 * dist.entropy().mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
    opt.step()
    baseline = 0.95 * baseline + 0.05 * reward.mean().item()
    mean_reward = 0.97 * mean_reward + 0.03 * reward.mean().item()
    if it % 40 == 0 or it == 1:
        print(f"iter {it:3d} loss {loss.item():+.4f} reward {mean_reward / (1 - 0.97 ** it):.4f}")
