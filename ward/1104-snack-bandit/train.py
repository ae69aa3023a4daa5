"""Contextual bandit for a vending machine: learn the pay-off of each slot from logged choices."""
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn

Transition = namedtuple("Transition", "state action reward")
N_SLOTS, N_FEATURES = 5, 12


class Machine:
    def __init__(self, seed):
        g = torch.Generator().manual_seed(seed)
        self.pref = torch.randn(N_SLOTS, N_FEATURES, generator=g) / 2
        self.g = g

    def customer(self):
        return torch.randn(N_FEATURES, generator=self.g)

    def payoff(self, s, a):
        return torch.tanh(self.pref[a] @ s).item() + 0.1 * torch.randn(1, generator=self.g).item()

    def best(self, s):
        return int((self.pref @ s).argmax())


class ReplayBuffer:
    def __init__(self, capacity):
        self.items = deque(maxlen=capacity)

    def push(self, *args):
        self.items.append(Transition(*args))

    def sample(self, n):
        batch = Transition(*zip(*random.sample(self.items, n)))
        return torch.stack(batch.state), torch.tensor(batch.action), torch.tensor(batch.reward)


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(N_FEATURES, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.q = nn.Linear(64, N_SLOTS)

    def forward(self, s):
        return self.q(self.body(s))


class Agent:
    def __init__(self, lr=2e-3):
        self.net = QNet()
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=lr)

    def act(self, s):
        with torch.no_grad():
            return int(self.net(s).argmax())

    def learn(self, buffer, batch_size=128):
        states, actions, rewards = buffer.sample(batch_size)
        q_sa = self.net(states).gather(1, actions.unsqueeze(1))
        loss = (q_sa - rewards).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


random.seed(9)
torch.manual_seed(9)
machine, buffer, agent = Machine(9), ReplayBuffer(5000), Agent()
for _ in range(5000):  # logged by the old random policy
    s = machine.customer()
    a = random.randrange(N_SLOTS)
    buffer.push(s, a, machine.payoff(s, a))

test = [machine.customer() for _ in range(300)]
for update in range(1, 401):
    loss = agent.learn(buffer)
    if update % 50 == 0:
        hit = sum(agent.act(s) == machine.best(s) for s in test) / len(test)
        income = sum(torch.tanh(machine.pref[agent.act(s)] @ s).item() for s in test) / len(test)
        print(f"update {update:4d}  loss {loss:.4f}  best slot chosen {hit:.2f}  mean income {income:+.3f}")
