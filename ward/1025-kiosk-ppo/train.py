"""PPO for the newspaper kiosk: how many papers to order each morning. Sixteen kiosks are simulated side by side."""
import torch
import torch.nn as nn
from torch.distributions import Categorical

torch.manual_seed(88)

KIOSKS, HORIZON, ORDERS = 16, 24, 9
GAMMA, LAMBDA, CLIP = 0.9, 0.9, 0.2


class KioskEnv:
    """State: papers left (they keep two days), weekday, weather forecast. Reward: sales - cost of ordering - waste."""

    def reset(self):
        self.left = torch.zeros(KIOSKS)
        self.day = torch.randint(0, 7, (KIOSKS,))
        self.weather = torch.rand(KIOSKS)
        return self.observe()

    def observe(self):
        angle = self.day * (2 * torch.pi / 7)
        return torch.stack([self.left / 4 - 0.5, angle.sin(), angle.cos(), (self.weather - 0.5) * 3], 1)

    def step(self, order):
        mean = 2.5 + 2.5 * self.weather + 1.5 * (self.day >= 5)
        demand = torch.poisson(mean)
        stock = self.left + order
        sold = torch.minimum(stock, demand)
        rest = stock - sold
        waste = (rest - order).clamp(min=0) + (rest - 4).clamp(min=0)
        reward = 1.0 * sold - 0.4 * order - 0.3 * waste - 0.1 * rest
        self.left = (rest - waste).clamp(0, 4)
        self.day = (self.day + 1) % 7
        self.weather = torch.rand(KIOSKS)
        return self.observe(), reward


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, ORDERS))
        self.critic = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 1))

    def forward(self, obs):
        return Categorical(logits=self.actor(obs)), self.critic(obs).squeeze(-1)


env = KioskEnv()
agent = ActorCritic()
optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3)
obs = env.reset()
for update in range(1, 51):
    store = {k: [] for k in ("obs", "act", "logp", "rew", "val")}
    agent.eval()
    with torch.no_grad():
        for _ in range(HORIZON):
            dist, value = agent(obs)
            action = dist.sample()
            nxt, reward = env.step(action.float())
            for k, v in zip(store, (obs, action, dist.log_prob(action), 0.1 * reward, value)):
                store[k].append(v)
            obs = nxt
        _, last = agent(obs)
        batch = {k: torch.stack(v) for k, v in store.items()}
        adv = torch.zeros(HORIZON, KIOSKS)
        running = torch.zeros(KIOSKS)
        for t in reversed(range(HORIZON)):
            after = batch["val"][t + 1] if t + 1 < HORIZON else last
            running = batch["rew"][t] + GAMMA * after - batch["val"][t] + GAMMA * LAMBDA * running
            adv[t] = running
        returns = adv + batch["val"]
    flat = {k: v.flatten(0, 1) for k, v in batch.items()}
    adv, returns = adv.flatten(), returns.flatten()
    adv = (adv - adv.mean()) / adv.std()
    agent.train()
    for _ in range(3):
        for idx in torch.randperm(len(adv)).split(128):
            dist, value = agent(flat["obs"][idx])
            ratio = (dist.log_prob(flat["act"][idx]) - flat["logp"][idx]).exp()
            policy = -torch.min(ratio * adv[idx], ratio.clamp(1 - CLIP, 1 + CLIP) * adv[idx]).mean()
            critic = (value - returns[idx]).pow(2).mean()
            entropy = dist.entropy().mean()
            loss = policy + 0.5 * critic - 0.01 * entropy
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 2.0)
            optimizer.step()
    if update % 5 == 0:
        print(f"update {update:2d}  reward per day {10 * batch['rew'].mean():.3f}  loss {loss.item():+.3f}  policy {policy.item():+.3f}  critic {critic.item():.3f}  entropy {entropy.item():.3f}")
