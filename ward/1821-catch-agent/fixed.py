import random
from typing import NamedTuple

import torch
from torch import nn


class Transition(NamedTuple):
    frames: torch.Tensor
    action: int
    reward: float
    next_frames: torch.Tensor
    done: bool


class Catch:
    """A ball falls through a 64 x 64 field; the paddle at the bottom has to be below it."""

    def __init__(self, size=64):
        self.size = size

    def reset(self):
        self.row, self.ball = 0, random.randrange(self.size)
        self.paddle = random.randrange(self.size)
        self.previous = self.draw()
        return self.frames()

    def draw(self):
        field = torch.zeros(self.size, self.size)
        field[self.row, self.ball] = 1.0
        field[-1, max(self.paddle - 4, 0):self.paddle + 5] = 1.0
        return field

    def frames(self):
        return torch.stack([self.previous, self.draw()])

    def step(self, action):
        self.previous = self.draw()
        self.paddle = min(max(self.paddle + 3 * (action - 1), 0), self.size - 1)
        self.row += 3
        done = self.row >= self.size - 1
        self.row = min(self.row, self.size - 1)
        caught = abs(self.paddle - self.ball) <= 4
        return self.frames(), (1.0 if caught else -1.0) if done else 0.0, done


class Agent:
    def __init__(self, epsilon=0.3, discount=0.95):
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(2 * 64 * 64, 96), nn.ReLU(), nn.Linear(96, 3))
        self.target = nn.Sequential(nn.Flatten(), nn.Linear(2 * 64 * 64, 96), nn.ReLU(), nn.Linear(96, 3))
        self.target.load_state_dict(self.net.state_dict())
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=5e-4)
        self.epsilon, self.discount = epsilon, discount
        self.experience = []

    def act(self, frames):
        if random.random() < self.epsilon:
            return random.randrange(3)
        with torch.no_grad():
            return int(self.net(frames[None]).argmax())

    def remember(self, transition):
        self.experience.append(transition)
        if len(self.experience) > 1500:
            self.experience.pop(0)

    def learn(self, size=32):
        if len(self.experience) < 256:
            return None
        batch = random.sample(self.experience, size)
        frames, following = torch.stack([t.frames for t in batch]), torch.stack([t.next_frames for t in batch])
        action = torch.tensor([t.action for t in batch])
        reward, done = torch.tensor([t.reward for t in batch]), torch.tensor([float(t.done) for t in batch])
        with torch.no_grad():
            goal = reward + self.discount * (1 - done) * self.target(following).max(1).values
        value = self.net(frames).gather(1, action[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(value, goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def play(agent, episodes=200):
    world, wins, losses = Catch(), [], []
    for episode in range(1, episodes + 1):
        frames, done = world.reset(), False
        while not done:
            action = agent.act(frames)
            following, reward, done = world.step(action)
            agent.remember(Transition(frames, action, reward, following, done))
            frames = following
            if (loss := agent.learn()) is not None:
                losses.append(loss)
        wins.append(reward > 0)
        agent.epsilon = max(0.05, agent.epsilon * 0.996)
        if episode % 20 == 0:
            agent.target.load_state_dict(agent.net.state_dict())
        if episode % 50 == 0:
            print(f"episode {episode} loss {sum(losses[-500:]) / len(losses[-500:]):.4f} caught {sum(wins[-50:])} of 50")


if __name__ == "__main__":
    random.seed(3)
    torch.manual_seed(3)
    play(Agent())
