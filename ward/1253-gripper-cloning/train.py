"""Behaviour cloning for a planar gripper: an actor in the style of the PPO reference implementations."""

import numpy as np
import torch
import torch.nn as nn


def layer_init(layer, std=0.01, bias_const=0.0):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, bias_const)
    return layer


class Actor(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.actor_mean = nn.Sequential(
            layer_init(nn.Linear(obs_dim, 64)), nn.Tanh(),
            layer_init(nn.Linear(64, 64)), nn.Tanh(),
            layer_init(nn.Linear(64, 64)), nn.Tanh(),
            layer_init(nn.Linear(64, act_dim), std=0.01))

    def forward(self, obs):
        return self.actor_mean(obs)


def expert(obs):
    """Two-joint controller: pulls towards the target, brakes, and avoids the wall on the left."""
    pos, vel, target = obs[:, :2], obs[:, 2:4], obs[:, 4:6]
    pull = torch.tanh(1.5 * (target - pos)) - 0.6 * vel
    wall = torch.relu(-0.3 - pos[:, :1]) * torch.tensor([1.5, 0.0])
    return pull + wall


def main():
    torch.manual_seed(41)
    np.random.seed(41)
    obs = torch.randn(4000, 6)
    act = expert(obs) + 0.1 * torch.randn(4000, 2)
    train_o, train_a, test_o, test_a = obs[:3400], act[:3400], obs[3400:], act[3400:]
    actor = Actor(6, 2)
    optimizer = torch.optim.Adam(actor.parameters(), lr=3e-3, eps=1e-5)
    batch_size, inds = 100, np.arange(len(train_o))
    for update in range(10):
        np.random.shuffle(inds)
        losses = []
        for start in range(0, len(inds), batch_size):
            mb = inds[start:start + batch_size]
            loss = ((actor(train_o[mb]) - train_a[mb]) ** 2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        with torch.no_grad():
            mse = ((actor(test_o) - test_a) ** 2).mean().item()
        print(f"update {update}: loss {np.mean(losses):.4f}, test loss {mse:.4f}")


if __name__ == "__main__":
    main()
