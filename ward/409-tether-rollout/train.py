"""Learn the motion of a damped pendulum from short rollouts; an averaged copy is used for testing."""
import copy

import torch
import torch.nn as nn


class Dynamics(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.ELU(), nn.Linear(hidden, hidden), nn.ELU(), nn.Linear(hidden, 2))

    def forward(self, state, steps, dt=0.2):
        path = []
        for _ in range(steps):
            state = state + dt * self.net(state)
            path.append(state)
        return torch.stack(path, dim=1)


def true_path(state, steps, dt=0.2):
    path = []
    for _ in range(steps):
        angle, speed = state.unbind(1)
        state = torch.stack([angle + dt * speed, speed + dt * (-2.0 * torch.sin(angle) - 0.3 * speed)], dim=1)
        path.append(state)
    return torch.stack(path, dim=1)


class Averaged:
    def __init__(self, model, decay):
        self.model = copy.deepcopy(model)
        self.decay = decay
        for p in self.model.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for mine, theirs in zip(self.model.parameters(), model.parameters()):
            mine.lerp_(theirs, 1 - self.decay)


class Learner:
    def __init__(self, steps=16, batch=48):
        self.steps, self.batch = steps, batch
        self.model = Dynamics()
        self.average = Averaged(self.model, decay=0.9)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.12, momentum=0.9)
        self.test_start = self.starts(200)

    def starts(self, n):
        return (torch.rand(n, 2) * 2 - 1) * torch.tensor([1.4, 1.6])

    def iterate(self):
        start = self.starts(self.batch)
        loss = (self.model(start, self.steps) - true_path(start, self.steps)).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.average.model.parameters(), 1.5)
        self.optimizer.step()
        self.average.update(self.model)
        return loss.item()

    @torch.no_grad()
    def error(self):
        model = self.average.model
        return (model(self.test_start, self.steps) - true_path(self.test_start, self.steps)).pow(2).mean().item()


if __name__ == "__main__":
    torch.manual_seed(7)
    learner = Learner()
    recent = []
    for k in range(1, 201):
        recent.append(learner.iterate())
        if k % 20 == 0:
            print(f"{k:4d}  rollout loss {sum(recent) / len(recent):.4f}  averaged model {learner.error():.4f}")
            recent.clear()
