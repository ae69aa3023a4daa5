# advantage actor-critic: a ferry on a line of 9 docks has to reach the dock shown to it
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(7)
DOCKS, ENVS, ROLL, GAMMA = 9, 32, 8, 0.9


class Harbour:
    def __init__(self, n):
        self.n = n
        self.pos = torch.randint(0, DOCKS, (n,))
        self.goal = torch.randint(0, DOCKS, (n,))

    def obs(self):
        return torch.cat([nn.functional.one_hot(self.pos, DOCKS), nn.functional.one_hot(self.goal, DOCKS)], 1).float()

    def step(self, action):  # 0 left, 1 stay, 2 right
        self.pos = (self.pos + action - 1).clamp(0, DOCKS - 1)
        done = self.pos == self.goal
        reward = torch.where(done, 1.0, -0.05)
        self.pos = torch.where(done, torch.randint(0, DOCKS, (self.n,)), self.pos)
        self.goal = torch.where(done, torch.randint(0, DOCKS, (self.n,)), self.goal)
        return reward, done.float()


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(2 * DOCKS, 64), nn.Tanh())
        self.actor = nn.Linear(64, 3)
        self.critic = nn.Linear(64, 1)

    def forward(self, o):
        h = self.shared(o)
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


env, net = Harbour(ENVS), ActorCritic()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
history = []

for update in range(1, 201):
    logps, values, rewards, dones, ents = [], [], [], [], []
    for _ in range(ROLL):
        dist, v = net(env.obs())
        a = dist.sample()
        r, d = env.step(a)
        logps.append(dist.log_prob(a)); values.append(v); rewards.append(r); dones.append(d); ents.append(dist.entropy())
    with torch.no_grad():
        ret = net(env.obs())[1]
    returns = []
    for r, d in zip(reversed(rewards), reversed(dones)):
        ret = r + GAMMA * (1 - d) * ret
        returns.insert(0, ret)
    returns, values = torch.stack(returns), torch.stack(values)
    adv = returns - values.detach()
    actor_loss = -(torch.stack(logps) * adv).mean()
    critic_loss = (returns - values).pow(2).mean()
    loss = actor_loss + 0.5 * critic_loss - 0.01 * torch.stack(ents).mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    opt.step()
    history.append(torch.stack(rewards).mean().item())
    if update % 20 == 0:
        print(f"update {update:3d} loss {loss.item():+.4f} critic {critic_loss.item():.4f} "
              f"reward per step {sum(history[-20:]) / 20:+.3f}")
